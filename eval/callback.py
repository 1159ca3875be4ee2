"""Log accuracy and RankC while transformers' Trainer trains a model."""

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
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
from polyprobe.analysis.figures.units import Units, resolve_bootstrap
from polyprobe.analysis.options import Bootstrap
from polyprobe.eval.donors import deal_donors
from polyprobe.eval.evaluate import allows_donors
from polyprobe.eval.options import CallbackOptions
from polyprobe.eval.questions import annotate
from polyprobe.eval.work.fill import Query, as_scores, make_tasks, queries_of
from polyprobe.eval.work.workers import Task, score_here
from polyprobe.metrics.joint.significance import withhold
from polyprobe.metrics.shared.intervals import estimate_figure
from polyprobe.schema.columns import find_different
from polyprobe.schema.load import Splits, load_facts
from polyprobe.schema.run.protocol import as_asked, protocol_of
from polyprobe.schema.run.rows import find_rows
from polyprobe.scoring import QueryScores
from polyprobe.scoring.load import engage_object
from polyprobe.scoring.model_objects import unwrap_model
from polyprobe.scoring.options import ScorerOptions, ScoringOptions
from polyprobe.scoring.scorers import Scorer
from polyprobe.scoring.weights.quantized import keep_unpacked
from polyprobe.system.messages import PolyprobeError, naming_language
from polyprobe.system.options import convert_value, with_keywords


class ConsistencyCallback(TrainerCallback):
    """Measure a model's accuracy and consistency between languages during training.

    The figures equal those of `evaluate_model` for a checkpoint saved at that step:
    `polyprobe/accuracy.en` and so on by language, `polyprobe/rankc_subject.en-ru` and
    `polyprobe/rankc.en-ru` by pair, and the means of these, of `polyprobe/accuracy_gain` and of
    `polyprobe/rankc_adjusted`, without undefined ones. `trainer.log` sends them to the log history,
    the printed log and every `report_to` (TensorBoard and W&B show them under `train/`, like all
    names without `eval_`). The metrics of an evaluation get them as `eval_polyprobe/rankc` and so
    on, so that `metric_for_best_model="polyprobe/rankc"` works, and `EarlyStoppingCallback` if
    added after this one. `hyperparameter_search` sums all metrics without a `compute_objective`.

    Training is the same bit for bit as without the callback: no dropout, no gradient, random
    generators restored. Weights are scored in their own type, also under mixed precision. Each of
    several processes scores all rows, and all take the figures of the first; weights that are split
    over processes (FSDP, DeepSpeed ZeRO 3) are refused. Scores that are no numbers are a warning.

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

    @with_keywords(CallbackOptions)
    def __init__(
        self, trainer: Trainer, dataset: str | Splits, config: str | None = None, **options: Any
    ) -> None:
        """Load and check the rows and their tokens.

        Args:
            trainer: trainer of the model; its `processing_class` is the model's tokenizer.
            dataset: as in `evaluate_model`, like `config` and most options.
            config: configuration of the dataset.
            options: of `CallbackOptions`: `every`, steps between measurements (default: at each
                evaluation); `prefix` of the figures' names; `donor=False` for half of the work,
                without centred RankC and gain; languages, whose pairs add two figures each; limit,
                sample, relations, exclude; scoring, permutations, batch_tokens; chat and so on.

        Raises:
            PolyprobeError: any error that the caller can correct, in one line.
        """
        self._options = CallbackOptions.from_keywords(options, type(self))
        convert_value("the trainer", trainer, Trainer)
        if trainer.is_fsdp_enabled or is_deepspeed_zero3_enabled():
            raise PolyprobeError(
                "the trainer splits the model's weights over processes (FSDP or DeepSpeed ZeRO 3), "
                "which ConsistencyCallback cannot measure; use `polyprobe eval` on its checkpoints"
            )
        self._trainer = trainer
        values = {part.name: getattr(self._options, part.name) for part in fields(ScoringOptions)}
        scorer_options = ScorerOptions(**values, tokenizer=_tokenizer_of(trainer))
        self._make = partial(engage_object, options=scorer_options)
        self._figures: dict[str, float] | None = None  # of the current weights
        scoring = self._options.scoring
        protocol = protocol_of(scoring)
        if protocol.kind != "scores" or protocol.answers:
            raise PolyprobeError(f"scoring {scoring!r} cannot follow a training; choose another")
        tables = load_facts(dataset, config, self._options.languages, protocol.contrasts)
        self._own_candidates = bool(find_different(tables.values()).any())
        rows, _ = find_rows(next(iter(tables.values())), self._options)
        texts = as_asked(tables, scoring)
        if self._options.donor and allows_donors(protocol, tables):
            texts = annotate(texts, deal_donors(next(iter(texts.values()))))
        self._tables = {language: table.take(rows) for language, table in texts.items()}
        self._queries = {language: queries_of(table) for language, table in self._tables.items()}
        self._tasks = make_tasks(self._queries, set())
        with undisturbed(self._model) as model:
            self._scorer = self._make(model)
        _check_tasks(self._scorer, self._tasks)

    def on_train_begin(self, args: TrainingArguments, *arguments: Any, **kwargs: Any) -> None:
        """Forget figures of other weights; warn if nothing will be measured."""
        self._figures = None
        if self._options.every is None and args.eval_strategy == "no":
            warnings.warn(
                "this training makes no evaluation, so ConsistencyCallback measures nothing: "
                "give it every=STEPS, or the trainer an eval_strategy",
                stacklevel=2,
            )

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        """Forget the figures of the previous step."""
        self._figures = None

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Measure every so many steps."""
        if self._options.every and state.global_step % self._options.every == 0:
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
            self._figures = None  # the weights may have changed
        best = (args.metric_for_best_model or "").removeprefix("eval_")
        due = self._options.every is None or not self._trainer.is_in_train
        if self._figures is None and (due or best.startswith(f"{self._options.prefix}/")):
            self._follow(state, control)
        metrics.update({f"eval_{name}": value for name, value in (self._figures or {}).items()})

    @property
    def _model(self) -> Any:
        return unwrap_model(self._trainer.model)

    def _follow(self, state: TrainerState, control: TrainerControl) -> None:
        logs = control.should_log
        self._figures = self._measure(state.global_step)
        if self._figures:
            self._trainer.log(dict(self._figures))
        control.should_log = logs  # `log` marks the loss as logged, which is wrong

    def _measure(self, step: int) -> dict[str, float]:
        """Return the figures of the current weights, the same in every process."""
        try:
            figures = self._name(ScoredFacts(self._score(), own_candidates=self._own_candidates))
        except PolyprobeError as error:
            warnings.warn(f"step {step} is not measured: {error}", stacklevel=2)
            figures = {}
        shared = [figures]
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.broadcast_object_list(shared)
        return shared[0]

    def _name(self, facts: ScoredFacts) -> dict[str, float]:
        values = {}
        bootstrap = resolve_bootstrap(Bootstrap(), facts.table, len(facts.languages))
        options = Units.read(facts.table, bootstrap).second  # of firm figures, see `withhold`
        for figure in (x for x in SEPARATE if x.training and x.applies(facts)):
            measured = withhold(figure.measure(facts), options)
            for part, value in estimate_figure(measured, n_resamples=0).items():
                if value is not None and (part == "mean" or figure.training == "each"):
                    suffix = "" if part == "mean" else f".{part}"
                    values[f"{self._options.prefix}/{figure.name}{suffix}"] = value
        return values

    def _score(self) -> dict[str, pa.Table]:
        scores: dict[Query, QueryScores] = {}
        with undisturbed(self._model) as model:
            if self._scorer.model is not model:
                self._scorer = self._make(model)
            for task, scored in score_here(self._scorer, self._tasks, lambda *_: None):
                queries = zip(task.prompts, map(tuple, task.candidates), strict=True)
                scores.update(zip(queries, scored, strict=True))
        return {
            language: as_scores(table, [scores[query] for query in self._queries[language]])
            for language, table in self._tables.items()
        }


def _tokenizer_of(trainer: Trainer) -> PreTrainedTokenizerBase:
    processor = trainer.processing_class
    for tokenizer in (processor, getattr(processor, "tokenizer", None)):
        if isinstance(tokenizer, PreTrainedTokenizerBase):
            return tokenizer
    raise PolyprobeError("the trainer has no tokenizer; give it Trainer(processing_class=…)")


def _check_tasks(scorer: Scorer, tasks: list[Task]) -> None:
    """Refuse rows that cannot be scored; warn of candidates with only unknown tokens."""
    unknown: Counter[str] = Counter()
    for task in tasks:
        with naming_language(task.language):
            prepared = scorer.prepare(task.prompts, task.candidates)
        unknown[task.language] += sum(map(len, prepared.unknown))
    for language in +unknown:
        warnings.warn(
            f"language '{language}': {unknown[language]} candidates are nothing but unknown tokens "
            "to this model",
            stacklevel=3,
        )


@contextmanager
def undisturbed(model: Any) -> Iterator[Any]:
    """Yield the model as a saved checkpoint would be; training continues undisturbed."""
    # Dropout and accelerate's casts for mixed precision are off. Module modes, `forward` and random
    # generators are restored; a forward pass may use them.
    modes = [(module, module.training) for module in model.modules()]
    python, numpy = random.getstate(), np.random.get_state()
    wrapper, forward = (vars(model).get(name) for name in ("forward", "_original_forward"))
    wraps = wrapper is not None and forward is not None
    model.eval()
    keep_unpacked(model)
    if wraps:
        model.forward = forward
    try:
        with torch.random.fork_rng([model.device] if model.device.type == "cuda" else []):
            yield model
    finally:
        if wraps:
            model.forward = wrapper
        random.setstate(python)
        np.random.set_state(numpy)
        for module, training in modes:
            module.training = training
