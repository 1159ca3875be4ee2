"""Mistakes in declared options, with the beginnings of their messages."""

from polyprobe.eval.options import EvaluationOptions
from polyprobe.system.options import collect_options

MISTAKES = {
    "--limit must be at least 1, got 0": {"limit": 0},
    "--sample must be at least 1, got -2": {"sample": -2},
    "--limit and --sample were both given; choose one": {"limit": 1, "sample": 1},
    "--languages is empty; give codes such as en,fr, or omit it for all": {"languages": ","},
    "unknown --scoring 'bmlma'; did you mean 'bmlama'? known: bmlama, mpararel, ": {
        "scoring": "bmlma"
    },
    "--permutations must be 1 to 26, got 0": {"permutations": 0, "scoring": "letters"},
    "--permutations must be 1 to 26, got 27": {"permutations": 27, "scoring": "letters"},
    "--permutations is for --scoring letters; add that, or leave --permutations out": {
        "permutations": 2
    },
    "--batch-tokens must be 1 to 65536, got 0": {"batch_tokens": 0},
    "--system is for --chat; add that, or leave --system out": {"system": "Hi"},
    "--chat is for decoder-only models, --scoring pll for masked models; leave one out": {
        "chat": True,
        "scoring": "pll",
    },
    "--bos never and --chat were both given; the chat template decides on the BOS: leave --bos": {
        "chat": True,
        "bos": "never",
    },
    "unknown --bos 'alway'; did you mean 'always'? known: auto, always, never": {"bos": "alway"},
    "unknown --dtype 'fp16'; did you mean 'float16'? known: float32, bfloat16, float16": {
        "dtype": "fp16"
    },
    "unknown --device 'gpu'; did you mean 'cuda'? auto: the GPU if any": {"device": "gpu"},
    "unknown --product 'mkl'; known: torch, onednn, bfloat16": {"product": "mkl"},
    "unknown --device-map 'balanced'; known: auto": {"device_map": "balanced"},
    "--device and --device-map were both given; choose one": {
        "device": "cpu",
        "device_map": "auto",
    },
    "--device-map auto uses all devices of this machine for a single model; leave --devices out": {
        "devices": 2,
        "device_map": "auto",
    },
    "--device-map auto uses all devices of this machine for a single model; leave --ray out": {
        "ray": "local",
        "device_map": "auto",
    },
    "--device-map is for models in this process; with --server set it where the server is": {
        "server": "http://127.0.0.1:9",
        "device_map": "auto",
    },
    "--attention flex_attention cannot be used: it compiles a kernel for every shape of a batch": {
        "attention": "flex_attention"
    },
    "unknown --quantize '4bits'; did you mean '4bit'? known: 8bit, 4bit": {"quantize": "4bits"},
    "'.' is not an adapter of PEFT: it has no adapter_config.json; give the folder": {
        "adapter": "."
    },
    "--revision main: 'geolm' is not on the Hub and has no revisions; leave --revision out": {
        "revision": "main"
    },
    "'geolm' has its own tokenizer; leave it out, or add --server": {"tokenizer": "gpt2"},
    "invalid address of --server: ''; expected an address such as http://127.0.0.1:8000": {
        "server": ""
    },
    "--dtype is for models in this process; with --server set it where the server is started": {
        "server": "http://127.0.0.1:9",
        "dtype": "float16",
    },
    "--devices must be 1 to 256, got 0": {"devices": 0},
    "--threads must be 1 to 1024, got 100000": {"threads": 100_000},
    "--limit must be 1 to 1000000000, got 9000000000": {"limit": 9_000_000_000},
    "--devices and --ray were both given; choose one": {"devices": 2, "ray": "local"},
    "--scoring xfactr decodes in one process; leave --devices out": {
        "scoring": "xfactr",
        "devices": 2,
    },
    "--beam is for --scoring xfactr; add that, or leave --beam out": {"beam": 2},
    "--max-masks must be 1 to 1000, got 0": {"max_masks": 0, "scoring": "xfactr"},
    "unknown --initial 'ordr'; did you mean 'order'? known: independent, order, confidence": {
        "initial": "ordr"
    },
    "--prompt-probability is for --scoring object or object-released; got --scoring bmlama": {
        "prompt_probability": True
    },
    "--shots must be 0 to 32, got 33": {"shots": 33},
    "--shots is for --scoring bmlama, object, contrastive and letters, not mpararel;": {
        "shots": 1,
        "scoring": "mpararel",
    },
    "--prompt-probability and --shots were both given": {
        "shots": 1,
        "prompt_probability": True,
        "scoring": "object",
    },
    "unknown --final-stop '!'; known: none, ., 。": {"final_stop": "!"},
    "--final-stop is for --scoring mpararel, not bmlama, which asks the templates": {
        "final_stop": "."
    },
}


def write_flags(options):
    """Write keywords as words of a command line."""
    flags = {name: collect_options(EvaluationOptions)[name].flag for name in options}
    return [
        flags[name] if value is True else f"{flags[name]}={value}"
        for name, value in options.items()
    ]
