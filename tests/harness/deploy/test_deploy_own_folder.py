# SPDX-License-Identifier: Apache-2.0
"""The service's own folder, in which it keeps a key: a deployment makes it as init would at the
next boot, and takes it back."""

from pathlib import Path

import pytest

from tests.harness.deployments import OWN, deploy, lay_programs, phone_at, tree, undo
from tests.harness.fake_phone import FakePhone


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePhone:
    lay_programs(tmp_path, monkeypatch)
    return phone_at(tmp_path / "phone")


def owners(phone: FakePhone) -> list[str]:
    """The files that were given away, and to whom."""
    log = (phone.tools / "chown.log").read_text().replace(str(phone.root), "")
    return [line for line in log.splitlines() if OWN in line]


def test_the_services_own_folder_is_made_as_init_would(phone: FakePhone) -> None:
    phone.file("/sys/fs/selinux/enforce", "1")
    phone.tool("restorecon", f'echo "$@" >>{phone.tools}/labels')
    deploy(phone)
    assert phone.path(OWN).stat().st_mode & 0o777 == 0o700
    assert owners(phone) == [f"system:system {OWN}.halyard-part"]
    assert str(phone.path(OWN)) in (phone.tools / "labels").read_text().splitlines()


def test_without_init_the_services_own_folder_is_roots(phone: FakePhone) -> None:
    phone.set(ro__build__version__sdk="34")
    deploy(phone)
    assert owners(phone) == [f"0:0 {OWN}.halyard-part"]


def test_a_folder_that_the_service_has_is_left_as_it_is(phone: FakePhone) -> None:
    phone.path(OWN).mkdir(mode=0o750)
    phone.file(f"{OWN}/compilation_cache.key", "a key")
    before = tree(phone)
    assert deploy(phone) == 4
    undo(phone)
    assert tree(phone) == before


def test_undo_removes_the_services_own_folder_with_its_key(phone: FakePhone) -> None:
    deploy(phone)
    phone.file(f"{OWN}/compilation_cache.key", "a key")
    phone.file(f"{OWN}/compilation_cache.key.77", "a part of one")
    undo(phone)
    assert not phone.path(OWN).exists()


def test_undo_leaves_what_others_have_put_into_the_services_own_folder(phone: FakePhone) -> None:
    deploy(phone)
    phone.file(f"{OWN}/compilation_cache.key", "a key")
    phone.file(f"{OWN}/notes", "mine")
    undo(phone)
    assert [path.name for path in phone.path(OWN).iterdir()] == ["notes"]


def test_where_init_makes_no_folder_none_is_made(phone: FakePhone) -> None:
    """Before Android 8 there is no /data/vendor."""
    phone.path("/data/vendor").rmdir()
    assert deploy(phone) == 4
    assert not phone.path("/data/vendor").exists()
