from tests.builder.sentences.phrases import tiny

__all__ = ["tiny"]
