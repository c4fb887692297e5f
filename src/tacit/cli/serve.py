"""``tacit serve``: an HTTP service with a web page."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from tacit.cli.interrupt import hand_over, keeps
from tacit.cli.options import PATH, Function
from tacit.cli.say import say
from tacit.data.files import existing_file
from tacit.errors import MissingExtraError
from tacit.server.request_limits import LOCAL_HOSTS, MAX_ITEMS, Settings, is_local

_NEEDED = ("fastapi", "prometheus_client", "uvicorn")  # of the extra `serve`


def _limit(name: str, kind: click.ParamType[Any], text: str) -> Callable[[Function], Function]:
    """The option for a limit, with its default."""
    flag, default = f"--{name.replace('_', '-')}", getattr(Settings, name)
    return click.option(flag, type=kind, default=default, show_default=True, help=text)


_COUNT, _SECONDS = click.IntRange(1), click.FloatRange(0, min_open=True)


@click.command()
@click.argument("folders", metavar="MODEL…", nargs=-1, type=PATH)
@click.option("--name", "named", metavar="NAME=MODEL", multiple=True, help="Serve a model under this name.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any free port.")
@click.option("--token", envvar="TACIT_TOKEN", metavar="TEXT", help="Bearer token; safer in $TACIT_TOKEN.")
@click.option("--token-file", type=PATH, help="File with the token.")
@click.option("--insecure", is_flag=True, help="Allow access without a token on a public address.")
@click.option("--allow-host", metavar="NAME", multiple=True, help="A further host name to accept.")
@click.option(
    "--acts", metavar="[NAME=]FILE", multiple=True, help="Ledger of changes and feedback.  [default: in MODEL]"
)
@_limit("max_body", _COUNT, "Maximum bytes of a request body.")
@_limit("max_connections", _COUNT, "Maximum number of open connections.")
@_limit("request_timeout", _SECONDS, "Seconds to receive a request body.")
@_limit("max_batch", click.IntRange(1, MAX_ITEMS), "Maximum texts or judgements in a request.")
@_limit("max_waiting", _COUNT, "Maximum texts queued for a model.")
@_limit("timeout", _SECONDS, "Seconds that a request may be queued.")
@click.option("--workers", type=_COUNT, default=1, show_default=True, help="Processes that serve.")
def serve(
    folders: tuple[Path, ...], named: tuple[str, ...], host: str, port: int, token: str | None, token_file: Path | None,
    insecure: bool, allow_host: tuple[str, ...], acts: tuple[str, ...], workers: int, **limits: Any,
) -> None:  # fmt: skip
    """Serve one or several models over HTTP: suggestions, explanations, feedback, and a web page.

    Changes and feedback are saved at once, in the model folder. If that is read-only, give a file with --acts; later,
    `tacit learn MODEL FILE` copies them into a model. Stop with Ctrl-C: requests in progress are finished.

    \b
    Examples:
      tacit serve model
      tacit serve --name news=models/news law
      tacit serve model --workers 4
      TACIT_TOKEN=$(cat token) tacit serve model --host 0.0.0.0
    """
    models = _by_name(folders, named)
    secret = _token(token, token_file)
    if secret is None and not is_local(host) and not insecure:
        raise click.UsageError(
            f"{host} is reachable by others: set a token (TACIT_TOKEN or --token-file), or give --insecure for no token"
        )
    hosts = LOCAL_HOSTS | {name.lower() for name in allow_host} if is_local(host) or allow_host else None
    settings = Settings(models, _ledgers(models, acts), secret, hosts, **limits)
    if not all(map(find_spec, _NEEDED)):
        raise MissingExtraError("tacit serve", "serve")
    if workers > 1 and os.name == "nt":
        raise click.UsageError("--workers above 1 needs Linux or macOS")
    from tacit.server import run

    keeps("all acknowledged changes are kept; run the same command to serve again")
    hand_over()  # requests in progress are finished first
    run.serve(settings, host=host, port=port, n_workers=workers, ready=_announce)


def _announce(address: str, n_labels: Mapping[str, int]) -> None:
    for name, number in n_labels.items():
        say(f"serving '{name}': {number:,} labels")
    click.echo(f"{address}  (stop with Ctrl-C)")


def _by_name(folders: tuple[Path, ...], named: tuple[str, ...]) -> dict[str, Path]:
    """Model folders by the name that clients use: the given name, or that of the folder."""
    pairs = [(folder.resolve().name, str(folder)) for folder in folders]
    pairs += [_pair("--name NAME=MODEL", assignment) for assignment in named]
    if not pairs:
        raise click.UsageError("give at least one model folder to serve")
    found: dict[str, Path] = {}
    for name, folder in pairs:
        if not re.fullmatch(r"[\w.-]+", name):
            raise click.UsageError(
                f"the name of a model must consist of letters, digits, '.', '_' and '-'; got '{name}': use --name"
            )
        if name in found:
            raise click.UsageError(f"two models are called '{name}'; rename one with --name NAME=MODEL")
        found[name] = Path(folder)
    return found


def _ledgers(models: Mapping[str, Path], given: tuple[str, ...]) -> dict[str, Path]:
    """Ledger files by model; with a single model its name may be omitted."""
    if len(models) == 1:
        name = next(iter(models))
        return dict.fromkeys(models, Path(given[-1].removeprefix(f"{name}="))) if given else {}
    found = {name: Path(path) for name, path in (_pair("--acts NAME=FILE", text) for text in given)}
    for name in found.keys() - models.keys():
        raise click.UsageError(f"--acts: unknown model '{name}'; there are: {', '.join(models)}")
    return found


def _pair(form: str, assignment: str) -> tuple[str, str]:
    name, _, path = assignment.partition("=")
    if not path:
        raise click.UsageError(f"{form.replace(' ', ' must be ')}; got '{assignment}'")
    return name, path


def _token(token: str | None, file: Path | None) -> str | None:
    if file is not None:
        token = existing_file(file).read_text(encoding="utf-8").strip()
    if token is None:
        return None
    if len(token) < 8 or not token.isascii() or not token.isprintable() or " " in token:
        raise click.UsageError("a token must have at least 8 printable ASCII characters and no blanks")
    return token
