"""Log accuracy and RankC while transformers' Trainer trains a model."""

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pyarrow as pa
import torch
import torch.distributed
from transformers import (
    PreTrainedTokenizerBase,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.integrations import is_deepspeed_zero3_enabled

from polyprobe.analysis.figures.facts import ScoredFacts
from polyprobe.analysis.figures.figures import SEPARATE
from polyprobe.eval.work.fill import Query, as_scores, make_tasks, queries_of
from polyprobe.eval.work.known_scores import Known, as_known
from polyprobe.eval.work.workers.here import Task, naming_language, score_here
from polyprobe.metrics.shared.intervals import estimate_figure
from polyprobe.schema.checks import find_different
from polyprobe.schema.load import Splits, load_facts
from polyprobe.schema.run.protocol import as_asked, protocol_of
from polyprobe.schema.run.rows import choose, choose_rows, choose_to_score
from polyprobe.scoring.chat import ChatOptions, render_chat, take_chat
from polyprobe.scoring.given import configuration_of, name_of, unwrap
from polyprobe.scoring.load import check_chat, family_of
from polyprobe.scoring.options import check_budget, check_names, check_permutations
from polyprobe.scoring.scorers import FAMILIES, SCORINGS, Scorer
from polyprobe.scoring.weights.quantized import keep_unpacked
from polyprobe.system.errors import PolyprobeError


class ConsistencyCallback(TrainerCallback):
    """Measure a model's accuracy and consistency between languages during training.

    The figures equal those of `evaluate_model` for a checkpoint saved at that step:
    `polyprobe/accuracy.en` and so on by language, `polyprobe/rankc.en-ru` by pair, and the means
    `polyprobe/accuracy`, `polyprobe/rankc` and `polyprobe/rankc_adjusted`, without undefined ones.
    `trainer.log` sends them to the log history, the printed log and every `report_to` (TensorBoard
    and W&B show them under `train/`, like all names without `eval_`). The metrics of an evaluation
    get them as `eval_polyprobe/rankc` and so on, so that `metric_for_best_model="polyprobe/rankc"`
    works, and `EarlyStoppingCallback` if added after this one. `hyperparameter_search` sums all
    metrics unless it has a `compute_objective`.

    Training is the same bit for bit as without the callback: no dropout, no gradient, random
    generators restored. Weights are scored in their own type, also under mixed precision. Each of
    several processes scores all rows, and all take the figures of the first; weights that are split
    over processes (FSDP, DeepSpeed ZeRO 3) are refused. A step whose scores are not numbers is
    skipped with a warning.

    Example::

        from polyprobe.eval import ConsistencyCallback
        from transformers import Trainer, TrainingArguments

        args = TrainingArguments(
            "out", eval_strategy="steps", eval_steps=500, save_steps=500,
            load_best_model_at_end=True, metric_for_best_model="polyprobe/rankc",
        )
        trainer = Trainer(model, args, train_dataset=train, eval_dataset=dev, processing_class=tok)
        trainer.add_callback(ConsistencyCallback(trainer, "geofacts", languages=["en", "ru"]))
        trainer.train()
    """

    def __init__(
        self,
        trainer: Trainer,
        dataset: str | Splits,
        config: str | None = None,
        *,
        languages: str | Sequence[str] | None = None,
        every: int | None = None,
        limit: int | None = None,
        sample: int | None = None,
        relations: str | Sequence[str] | None = None,
        exclude: str | Sequence[str] | None = None,
        scoring: str = "bmlama",
        permutations: int | None = None,
        batch_tokens: int | None = None,
        prefix: str = "polyprobe",
        chat: bool = False,
        system: str | None = None,
        user: str | None = None,
        chat_options: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> None:
        """Load and check the rows and their tokens.

        Args:
            trainer: trainer of the model; its `processing_class` is the model's tokenizer.
            dataset: as in `evaluate_model`, like config, languages, limit, sample,
                relations and exclude.
            config: configuration of the dataset.
            languages: split names; each pair adds a figure.
            every: number of steps between measurements (default: measure at each evaluation). An
                evaluation at a measured step gets its figures; other evaluations are measured if
                the choice of the best model depends on it.
            limit: the first N rows.
            sample: N rows spread over the relations.
            relations: only the rows of these.
            exclude: relations and flags whose rows are left out.
            scoring: scoring protocol, see `ModelOptions`.
            permutations: see `ModelOptions`.
            batch_tokens: token budget of a batch.
            prefix: prefix of the figures' names.
            chat: score sentences as the beginning of answers, see `ModelOptions`, like system,
                user and chat_options.
            system: system message.
            user: the user's message.
            chat_options: values of the chat template's variables.
            others: refused, with the nearest name.

        Raises:
            PolyprobeError: any error that the caller can correct, in one line.
        """
        check_names(others, ARGUMENTS, type(self).__name__)
        if every is not None and every < 1:
            raise PolyprobeError(f"every must be at least 1, got {every}")
        check_budget(batch_tokens)
        said = {"chat": chat, "system": system, "user": user, "chat_options": chat_options}
        conversation = take_chat({**said, "scoring": scoring})
        check_permutations(permutations, scoring)
        _check_whole(trainer)
        self._trainer = trainer
        self._every = every
        self._prefix = prefix
        self._batch_tokens = batch_tokens
        self._tokenizer = _tokenizer_of(trainer)
        self._make = _choose_scorer(scoring, _family(self._model))
        if permutations:
            self._make = partial(self._make, permutations=permutations)
        if conversation:
            self._make = self._in_chat(conversation, scoring)
        self._found: dict[str, float] | None = None  # of the current weights
        tables = load_facts(dataset, config, languages, protocol_of(scoring).contrasts)
        self._own = bool(find_different(tables.values()).any())
        table = next(iter(tables.values()))
        chosen = choose(table, choose_to_score(table, relations, exclude))
        rows = choose_rows(table, limit, sample, chosen.rows)
        asked = as_asked(tables, scoring)
        self._tables = {language: table.take(rows) for language, table in asked.items()}
        self._queries = {language: queries_of(table) for language, table in self._tables.items()}
        self._tasks = make_tasks(self._queries, set())
        with undisturbed(self._model) as model:
            self._scorer = self._make(model, self._tokenizer, self._batch_tokens)
        _check_tasks(self._scorer, self._tasks)

    def on_train_begin(self, args: TrainingArguments, *others: Any, **kwargs: Any) -> None:
        """Forget figures of other weights; warn if nothing will be measured."""
        self._found = None
        if self._every is None and args.eval_strategy == "no":
            warnings.warn(
                "this training makes no evaluation, so ConsistencyCallback measures nothing: "
                "give it every=STEPS, or the trainer an eval_strategy",
                stacklevel=2,
            )

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        """Forget the figures of the previous step."""
        self._found = None

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Measure every so many steps."""
        if self._every and state.global_step % self._every == 0:
            self._follow(state, control)

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, float],
        **kwargs: Any,
    ) -> None:
        """Add the figures to an evaluation's metrics; measure them if needed."""
        if not self._trainer.is_in_train:
            self._found = None  # the weights may have changed
        best = (args.metric_for_best_model or "").removeprefix("eval_")
        due = self._every is None or not self._trainer.is_in_train
        if self._found is None and (due or best.startswith(f"{self._prefix}/")):
            self._follow(state, control)
        metrics.update({f"eval_{name}": value for name, value in (self._found or {}).items()})

    def _in_chat(self, conversation: ChatOptions, scoring: str) -> Callable[..., Scorer]:
        """Return the scorer's class with the conversation."""
        family, name = FAMILIES[_family(self._model)], name_of(self._model)
        check_chat(family, name)
        chat = render_chat(self._tokenizer, conversation, name, scoring)
        return partial(self._make, chat=chat)

    @property
    def _model(self) -> Any:
        """Return the model without its wrappers for training."""
        return unwrap(self._trainer.model)

    def _follow(self, state: TrainerState, control: TrainerControl) -> None:
        asked = control.should_log
        self._found = self._measure(state.global_step)
        if self._found:
            self._trainer.log(dict(self._found))
        control.should_log = asked  # `log` marks the loss as logged, which is wrong

    def _measure(self, step: int) -> dict[str, float]:
        """Return the figures of the current weights, the same in every process."""
        try:
            found = self._name(ScoredFacts(self._score(), own_candidates=self._own))
        except PolyprobeError as error:
            warnings.warn(f"step {step} is not measured: {error}", stacklevel=2)
            found = {}
        figures = [found]
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.broadcast_object_list(figures)
        return figures[0]

    def _name(self, facts: ScoredFacts) -> dict[str, float]:
        found = {}
        for figure in (x for x in SEPARATE if x.training and x.applies(facts)):
            for part, value in estimate_figure(figure.measure(facts), n_resamples=0).items():
                if value is not None and (part == "mean" or figure.training == "each"):
                    of = "" if part == "mean" else f".{part}"
                    found[f"{self._prefix}/{figure.name}{of}"] = value
        return found

    def _score(self) -> dict[str, pa.Table]:
        """Return the scores of all rows by language, in the format of a run."""
        known: dict[Query, Known] = {}
        with undisturbed(self._model) as model:
            if self._scorer.model is not model:
                self._scorer = self._make(model, self._tokenizer, self._batch_tokens)
            for task, scored in score_here(self._scorer, self._tasks, lambda *_: None):
                queries = zip(task.prompts, map(tuple, task.candidates), strict=True)
                known.update(zip(queries, as_known(scored), strict=True))
        return {
            language: as_scores(table, [known[query] for query in self._queries[language]])
            for language, table in self._tables.items()
        }


ARGUMENTS = [*signature(ConsistencyCallback).parameters][:-1]


def _check_whole(trainer: Trainer) -> None:
    if trainer.is_fsdp_enabled or is_deepspeed_zero3_enabled():
        raise PolyprobeError(
            "the trainer splits the model's weights over processes (FSDP or DeepSpeed ZeRO 3), "
            "which ConsistencyCallback cannot measure; use `polyprobe eval` on its checkpoints"
        )


def _tokenizer_of(trainer: Trainer) -> PreTrainedTokenizerBase:
    given = trainer.processing_class
    for tokenizer in (given, getattr(given, "tokenizer", None)):  # a processor has one
        if isinstance(tokenizer, PreTrainedTokenizerBase):
            return tokenizer
    raise PolyprobeError("the trainer has no tokenizer; give it Trainer(processing_class=…)")


def _family(model: Any) -> str:
    """Return the model's family by the configuration that a checkpoint would have."""
    config = configuration_of(model)
    return family_of(config, config.name_or_path or type(model).__name__)


def _choose_scorer(scoring: str, family: str) -> Callable[..., Scorer]:
    known = [name for name, families in SCORINGS.items() if family in families]
    scored = [name for name in known if protocol_of(name).kind == "scores"]
    if scoring not in scored:
        raise PolyprobeError(
            f"scoring {scoring!r} cannot follow the training of this {family} model; "
            f"known: {', '.join(scored)}"
        )
    return SCORINGS[scoring][family]


def _check_tasks(scorer: Scorer, tasks: list[Task]) -> None:
    """Refuse rows that cannot be scored; warn of candidates with only unknown tokens."""
    unknown: Counter[str] = Counter()
    for task in tasks:
        with naming_language(task):
            prepared = scorer.prepare(task.prompts, task.candidates)
        unknown[task.language] += len(prepared.unknown)
    for language in +unknown:
        warnings.warn(
            f"language '{language}': {unknown[language]} candidates are nothing but unknown tokens "
            "to this model",
            stacklevel=3,
        )


@contextmanager
def undisturbed(model: Any) -> Iterator[Any]:
    """Yield the model as a saved checkpoint would be; training continues undisturbed.

    Dropout and accelerate's casts for mixed precision are off. Module modes, `forward` and random
    generators are restored; a forward pass may use them.
    """
    modes = [(module, module.training) for module in model.modules()]
    python, numpy = random.getstate(), np.random.get_state()
    wrapped, own = (vars(model).get(name) for name in ("forward", "_original_forward"))
    wraps = wrapped is not None and own is not None
    model.eval()
    keep_unpacked(model)
    if wraps:
        model.forward = own
    try:
        with torch.random.fork_rng([model.device] if model.device.type == "cuda" else []):
            yield model
    finally:
        if wraps:
            model.forward = wrapped
        random.setstate(python)
        np.random.set_state(numpy)
        for module, training in modes:
            module.training = training
