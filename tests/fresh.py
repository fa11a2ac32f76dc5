# SPDX-License-Identifier: Apache-2.0
"""Runs the README's commands on a bare Debian: what debootstrap's smallest variant has, with make,
git and certificates, and a clone of what is committed here, at a long path.

Usage: fresh.py [--on FORM] [--release NAME] [--user] [--root FOLDER] [--keep]
                [--compiler-cache FOLDER] [TARGET...]

The root's form is the file system that it lies on, as people have it:

    chroot    a folder: "/" is in no table of mounts (the default)
    overlay   overlayfs over a bare root, as Docker's and Podman's containers are
    btrfs     a file system of its own in an image file
    tmpfs     memory

It takes root, by sudo if need be, and the network. All that is mounted is so in a namespace of its
own, and every process runs in one: both are gone when this ends, however it ends. So is the root,
unless --keep or --root says otherwise. With --compiler-cache, what ccache has in a folder of this
machine need not be compiled again.

The root has what makes this machine reach Debian's packages and PyPI, and nothing else of it: the
mirror and proxies that apt is set to, the settings of pip (environment and files) with the
certificates, files and folders that they name, and the proxies in the environment. Golden cases,
where there are any (tests/conftest.py), are beside the clone, read-only.
"""

import argparse
import ast
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).resolve()
CHECKOUT = HERE.parents[1]
RELEASE = "bookworm"
# Of the image file, which takes up what is written into it alone.
BTRFS_BYTES = 40 * 2**30
MIRROR = "http://deb.debian.org/debian"
PACKAGES = ("make", "git", "ca-certificates")
TARGETS = ("demo", "test")
USER = "newcomer"
# Of the clone: longer than a Unix socket's name (108) or, on old kernels, a script's first line
# (128) can be.
PATH_LENGTH = 200
# Where the clone's tests look for golden cases.
GOLDENS = "shared/conformance"

PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")


def main() -> int:
    arguments = parse()
    form = FORMS[arguments.on]
    if arguments.inside is not None:
        return inside(arguments, form)
    if os.geteuid() != 0:
        return as_root()
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))
    if not form.stays and (arguments.keep or arguments.root is not None):
        sys.exit(f"A root on {arguments.on} can't be kept: it is gone with its mount.")
    install(["debootstrap", "debian-archive-keyring", *form.packages])
    if arguments.root is not None:
        root = arguments.root.resolve()
        root.mkdir(parents=True, exist_ok=True)
    else:
        # Where programs and device files may lie, and much fits: /tmp may be memory.
        root = Path(tempfile.mkdtemp(prefix="halyard-fresh-", dir="/var/tmp"))
        root.chmod(0o755)
    try:
        return in_namespaces(root)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        if arguments.keep or arguments.root is not None:
            print(f"The root stays: {root}", flush=True)
        else:
            shutil.rmtree(root)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="fresh.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", choices=FORMS, default="chroot", help="what the root lies on")
    parser.add_argument("--release", default=RELEASE, help=f"of Debian; {RELEASE} by default")
    parser.add_argument("--user", action="store_true", help="as an ordinary user who has sudo")
    parser.add_argument("--root", type=Path, help="make the root here, or go on with this one")
    parser.add_argument("--keep", action="store_true", help="leave the root there")
    parser.add_argument(
        "--compiler-cache", type=Path, metavar="FOLDER", help="of ccache, to be used and filled"
    )
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "targets", nargs="*", default=list(TARGETS), help="of make; `demo test` by default"
    )
    return parser.parse_args()


# ---- outside ------------------------------------------------------------------------------------


def as_root() -> int:
    """Again with sudo, which keeps nothing of the environment by itself."""
    if shutil.which("sudo") is None:
        sys.exit("A root is made and mounted by root, and there is no sudo.")
    kept = [f"{name}={value}" for name, value in network_settings().items()]
    kept += [f"{name}={value}" for name, value in os.environ.items() if name == "HALYARD_GOLDENS"]
    command = ["sudo", "env", *kept, sys.executable, str(HERE), *sys.argv[1:]]
    return subprocess.run(command).returncode


def install(packages: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "packages"
        wanted.write_text("".join(f"{name}\n" for name in packages))
        log = Path(folder) / "log"
        subprocess.run([CHECKOUT / "tests/packages.sh", wanted, log], check=True)


def in_namespaces(root: Path) -> int:
    """When this process dies, the kernel ends all that runs below, and unmounts what it mounted."""
    namespaces = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
    command = [sys.executable, str(HERE), "--inside", str(root), *sys.argv[1:]]
    child = subprocess.Popen(
        ["unshare", *namespaces, *command], env={**os.environ, **network_settings()}
    )
    try:
        return child.wait()
    finally:
        child.kill()
        child.wait()


def network_settings() -> dict[str, str]:
    """The environment's, and those of pip's files as the variables that mean the same."""
    found = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PIP_") or name.lower() in PROXIES
    }
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
    )
    for name, value in re.findall(r"^global\.([\w-]+)=(.*)$", listed.stdout, re.MULTILINE):
        variable = f"PIP_{name.upper().replace('-', '_')}"
        found.setdefault(variable, " ".join(str(ast.literal_eval(value)).split()))
    return found


# ---- what the root lies on ----------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """`mounted` is given the folder that all of it is in and the release, and makes a bare root
    there the first time; what it returns is the root, mounted in this namespace."""

    mounted: Callable[[Path, str], Path]
    packages: tuple[str, ...] = ()  # of Debian, that making it takes
    stays: bool = True


def on_chroot(folder: Path, release: str) -> Path:
    make_root(folder, release)
    return folder


def on_overlay(folder: Path, release: str) -> Path:
    if output("stat", "-f", "-c", "%T", str(folder)).strip() == "overlayfs":
        sys.exit(
            f"{folder} lies on an overlay, as a container's root does, and the kernel lays none "
            "over another: name a folder elsewhere with --root"
        )
    lower, upper, work, root = (folder / name for name in ("lower", "upper", "work", "root"))
    for each in (lower, upper, work):
        each.mkdir(exist_ok=True)
    make_root(lower, release)
    layers = f"lowerdir={lower},upperdir={upper},workdir={work}"
    mount(root, "-t", "overlay", "-o", layers, "overlay")
    return root


def on_btrfs(folder: Path, release: str) -> Path:
    image, root = folder / "btrfs.img", folder / "root"
    if not image.exists():
        with image.open("wb") as file:
            file.truncate(BTRFS_BYTES)
        subprocess.run(["mkfs.btrfs", "--quiet", "--nodiscard", str(image)], check=True)
    mount(root, "-t", "btrfs", "-o", "loop", str(image))
    make_root(root, release)
    return root


def on_tmpfs(folder: Path, release: str) -> Path:
    root = folder / "root"
    mount(root, "-t", "tmpfs", "-o", "mode=755,size=90%", "tmpfs")
    make_root(root, release)
    return root


FORMS = {
    "chroot": Form(on_chroot),
    "overlay": Form(on_overlay),
    "btrfs": Form(on_btrfs, packages=("btrfs-progs",)),
    "tmpfs": Form(on_tmpfs, stays=False),
}


# ---- in the namespaces --------------------------------------------------------------------------


def inside(arguments: argparse.Namespace, form: Form) -> int:
    start = time.monotonic()
    root = form.mounted(arguments.inside, arguments.release)
    mount_all(root)
    user = USER if arguments.user else "root"
    if arguments.user:
        make_user(root)
    clone = make_clone(root, user)
    settings = {}
    if arguments.compiler_cache is not None:
        settings = mount_compiler_cache(root, user, arguments.compiler_cache.resolve(), clone)
    version = chrooted(root, "root", ["cat", "/etc/debian_version"], capture=True).stdout.strip()
    kind = chrooted(root, "root", ["stat", "-f", "-c", "%T", clone], capture=True).stdout.strip()
    say(
        f"Debian {version} in a root on {kind} ({arguments.on}) at {root} "
        f"({seconds_since(start)} s); {user}'s clone: {clone}"
    )
    for target in arguments.targets:
        start = time.monotonic()
        say(f"make {target}")
        done = chrooted(
            root, user, ["make", "--no-print-directory", "-C", clone, target], settings=settings
        )
        say(f"make {target}: {seconds_since(start)} s, exit code {done.returncode}")
        if done.returncode != 0:
            return 1
    return 0


def make_root(root: Path, release: str) -> None:
    """None where one is there already."""
    if (root / "usr/bin/make").exists():
        return
    mirror = apt_mirror()
    say(f"Making a {release} root with debootstrap from {mirror}")
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    with tempfile.NamedTemporaryFile("r+") as log:
        done = subprocess.run(
            [*command, release, str(root), mirror], stdout=log, stderr=subprocess.STDOUT
        )
        if done.returncode != 0:
            sys.exit(Path(log.name).read_text()[-2000:])
    settings = output("apt-config", "dump")
    kept = re.findall(
        r"^Acquire::(?:https?::Proxy|https?::Verify|Check-Valid-Until|Check-Date).*;$",
        settings,
        re.MULTILINE,
    )
    (root / "etc/apt/apt.conf.d/90machine").write_text("".join(f"{line}\n" for line in kept))


def apt_mirror() -> str:
    """The mirror that this machine's apt gets the release from; the default where it gets another
    one."""
    listed = output(
        *("apt-get", "indextargets", "--format", "$(REPO_URI)"),
        *("Created-By: Packages", "Origin: Debian", f"Codename: {RELEASE}"),
    )
    usable = [line for line in listed.splitlines() if line.startswith(("http:", "https:", "file:"))]
    return usable[0] if usable else MIRROR


def mount_all(root: Path) -> None:
    mount(root / "proc", "-t", "proc", "proc")
    mount(root / "sys", "-t", "sysfs", "-o", "ro", "sysfs")
    mount(root / "dev/pts", "-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620", "devpts")
    mount(root / "dev/shm", "-t", "tmpfs", "-o", "mode=1777", "tmpfs")
    for name in ("etc/resolv.conf", "etc/hosts", "etc/hostname"):
        if Path("/", name).is_file():
            shutil.copyfile(Path("/", name), root / name)
    for path in named_paths(network_settings().values()):
        there = root / path.relative_to("/")
        if path.is_dir():
            there.mkdir(parents=True, exist_ok=True)
            mount(there, "-o", "bind,ro", str(path))
        elif path.is_file():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, there)


def named_paths(settings: Iterable[str]) -> set[Path]:
    """The files and folders of this machine that settings name. Of an index, which is a file: URL,
    the folder above: its pages name files beside it."""
    paths = set()
    for value in settings:
        for word in value.split():
            url = urlsplit(word)
            place = Path(unquote(url.path))
            if url.scheme in ("", "file") and place.is_absolute() and place.exists():
                paths.add(place.parent if url.scheme == "file" else place)
    return paths


def mount(place: Path, *words: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *words, str(place)], check=True)


def mount_compiler_cache(root: Path, user: str, folder: Path, clone: str) -> dict[str, str]:
    """The settings with which ccache finds there what other clones' builds left: sources are told
    by their paths from the build folder."""
    there = "/var/cache/compiler"
    folder.mkdir(parents=True, exist_ok=True)
    mount(root / there[1:], "-o", "bind", str(folder))
    if user != "root":
        chrooted(root, "root", ["chmod", "-R", "a+rwX", there]).check_returncode()
    return {"CCACHE_DIR": there, "CCACHE_BASEDIR": clone, "CCACHE_NOHASHDIR": "1"}


def make_user(root: Path) -> None:
    if (root / "home" / USER).exists():
        return
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-qq", "--no-install-recommends", "sudo"],
        ["useradd", "--create-home", "--shell", "/bin/bash", USER],
    ):
        chrooted(root, "root", command, capture=True).check_returncode()
    (root / "etc/sudoers.d" / USER).write_text(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")


def make_clone(root: Path, user: str) -> str:
    """The folder of the user's clone, as it is called in the root. One that is there is brought up
    to date."""
    home = Path("/root" if user == "root" else f"/home/{user}")
    # PATH_LENGTH in all.
    above = Path(f"{home}/{'in-a-folder/' * PATH_LENGTH}"[: PATH_LENGTH - len("/halyard")])
    clone = str(above / "halyard")
    bundle = root / "tmp/halyard.bundle"
    git = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT)]
    subprocess.run([*git, "bundle", "create", "--quiet", bundle, "HEAD"], check=True)
    bundle.chmod(0o644)
    name = "/tmp/halyard.bundle"
    if (root / clone[1:] / ".git").exists():
        git = ["git", "-C", clone]
        steps = [
            [*git, "fetch", "--quiet", name, "HEAD"],
            [*git, "checkout", "--quiet", "--detach", "FETCH_HEAD"],
        ]
    else:
        steps = [
            ["mkdir", "-p", str(above)],
            ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", name, clone],
        ]
    for step in steps:
        chrooted(root, user, step).check_returncode()
    # The package's module, which needs nothing that has to be installed.
    sys.path.insert(0, str(CHECKOUT / "harness"))
    goldens = importlib.import_module("halyard.golden_folder").find()
    if goldens is not None and goldens.is_dir():
        mount(root / above.relative_to("/") / GOLDENS, "-o", "bind,ro", str(goldens.resolve()))
    return clone


def chrooted(
    root: Path,
    user: str,
    command: Sequence[str],
    capture: bool = False,
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    environment = {
        "HOME": "/root" if user == "root" else f"/home/{user}",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TERM": os.environ.get("TERM", "dumb"),
        "USER": user,
        **network_settings(),
        **(settings or {}),
    }
    return subprocess.run(
        ["chroot", f"--userspec={user}:{user}", str(root), *command],
        env=environment,
        capture_output=capture,
        text=True,
    )


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def seconds_since(start: float) -> int:
    return round(time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
