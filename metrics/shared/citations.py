"""Citations, in BibTeX, of papers from which several metrics come."""

JIANG_2020 = """\
@inproceedings{jiang-etal-2020-x,
    title = "{X}-{FACTR}: Multilingual Factual Knowledge Retrieval from Pretrained Language Models",
    author = "Jiang, Zhengbao and Anastasopoulos, Antonios and Araki, Jun and Ding, Haibo and
      Neubig, Graham",
    booktitle = "Proceedings of EMNLP", year = "2020",
    url = "https://aclanthology.org/2020.emnlp-main.479",
}
"""

QI_2023 = """\
@inproceedings{qi-etal-2023-cross,
    title = "Cross-Lingual Consistency of Factual Knowledge in Multilingual Language Models",
    author = "Qi, Jirui and Fern{\\'a}ndez, Raquel and Bisazza, Arianna",
    booktitle = "Proceedings of EMNLP", year = "2023",
    url = "https://aclanthology.org/2023.emnlp-main.658",
}
"""

SEMENOV_2025 = """\
@article{semenov-sennrich-2025-measuring,
    title = "Measuring the Effect of Disfluency in Multilingual Knowledge Probing Benchmarks",
    author = "Semenov, Kirill and Sennrich, Rico",
    journal = "arXiv preprint arXiv:2510.15115", year = "2025",
    url = "https://arxiv.org/abs/2510.15115",
}
"""
