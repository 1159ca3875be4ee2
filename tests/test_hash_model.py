"""One hash of a model's files for scores and translations."""

import hashlib

from polyprobe.system.files import hash_model


def test_hash_is_of_names_and_contents_wherever_the_folder_lies(tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True)
        (folder / "sub").mkdir()
        (folder / "sub" / "b.json").write_text("{}")
        (folder / "a.bin").write_text("1")
        (folder / "README.md").write_text(name)
        (folder / ".git" / "c").write_text(name)
    parts = [b"a.bin", hashlib.sha256(b"1").digest(), b"sub/b.json", hashlib.sha256(b"{}").digest()]
    expected = hashlib.sha256(b"".join(parts)).hexdigest()
    assert hash_model(tmp_path / "one") == hash_model(tmp_path / "two") == expected
    alone = hashlib.sha256(b"a.bin" + hashlib.sha256(b"1").digest()).hexdigest()
    assert hash_model(tmp_path / "one", "a.bin") == alone
    (tmp_path / "two" / "a.bin").write_text("2")
    assert hash_model(tmp_path / "one") != hash_model(tmp_path / "two")
