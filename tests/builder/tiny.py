import hashlib
import zipfile
from pathlib import Path

from polyprobe.system.download import Repository

# Two relations in three languages, as in the released files, with their peculiarities:
# CRLF, a Hebrew field in quotation marks, a Chinese header with a field too many.
HEAD = "Prompt\tAns\tCandidate Ans\tSubject\r\n"
TINY = {
    "en": HEAD
    + "Oslo lies in <mask>.\tNorway\tPeru, Norway\tOslo\r\n"
    + "Lima lies in <mask>.\tPeru\tNorway, Peru\tLima\r\n"
    + "In <mask> they pay in krone.\tNorway\tChad, Peru, Norway\tkrone\r\n",
    "he": HEAD
    + 'אוסלו ב<mask>.\tנורווגיה\tפרו, נורווגיה\t"או""סלו"\r\n'
    + '"לי""מה ב<mask>."\tפרו\tנורווגיה, פרו\tלימה\r\n'
    + 'קרונה ב<mask>\tנורווגיה\t"צ""אד, פרו, נורווגיה"\tקרונה\r\n',
    "zh": HEAD.replace("Candidate Ans", "Candidate\tAns")
    + "奥斯陆在<mask>。\t挪威\t秘鲁, 挪威\t奥斯陆\r\n"
    + "利马 在<mask>\u00a0\t秘鲁\t挪威, 秘鲁\t利马\r\n"
    + "克朗用于<mask>。\t挪威\t乍得, 秘鲁, 挪威\t克朗\r\n",
}
NAME = "someone/things"
TINY_BLOCKS = (("P17", 2, 2), ("P36", 0, 0), ("P127", 1, 1))


def pack(folder: Path, repository: Repository, contents: dict[str, bytes]) -> Path:
    """Write the contents as the repository's zipball."""
    archive = folder / repository.archive
    root = f"{repository.name.partition('/')[2]}-{repository.commit}"
    with zipfile.ZipFile(archive, "w") as zipball:
        for path, content in contents.items():
            zipball.writestr(f"{root}/{path}", content)
    return archive


def place_archive(monkeypatch, folder: Path, module, contents, name=NAME, **attributes) -> Path:
    """Pack the contents into a mirror folder, as the archive that a source's module reads."""
    repository = describe(contents)._replace(name=name)
    for attribute, value in {"REPOSITORY": repository, **attributes}.items():
        monkeypatch.setattr(module, attribute, value)
    pack(folder, repository, contents)
    return folder


def describe(contents: dict[str, bytes]) -> Repository:
    sums = {path: hashlib.sha256(content).hexdigest() for path, content in contents.items()}
    return Repository(NAME, "0123456789abcdef", sums)
