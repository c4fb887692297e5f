"""``tacit serve``: a model as an HTTP service with a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from tacit.cli.interrupt import hand_over, keeps
from tacit.cli.options import Function
from tacit.cli.startup import quick_start
from tacit.errors import MissingExtraError
from tacit.server.limits import LOCAL_HOSTS, Limits, Settings, is_local


def _limit(owner: type[Any], name: str, text: str) -> Callable[[Function], Function]:
    """The option for a limit, with its default."""
    return click.option(f"--{name.replace('_', '-')}", default=getattr(owner, name), show_default=True, help=text)


@click.command()
@click.argument("folders", metavar="MODEL…", nargs=-1, type=click.Path(path_type=Path))
@click.option("--name", "named", metavar="NAME=MODEL", multiple=True, help="A model under a name of its own.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free.")
@click.option("--token", envvar="TACIT_TOKEN", metavar="TEXT", help="What callers must show; better by $TACIT_TOKEN.")
@click.option("--token-file", type=click.Path(path_type=Path), help="A file that holds the token.")
@click.option("--insecure", is_flag=True, help="Let everyone in who can reach the address, without a token.")
@click.option("--allow-host", metavar="NAME", multiple=True, help="A name under which the service is known, too.")
@click.option(
    "--acts", metavar="[NAME=]FILE", multiple=True, help="Record what people teach here.  [default: in MODEL]"
)
@_limit(Settings, "max_body", "Bytes of a request.")
@_limit(Settings, "max_connections", "Connections at a time.")
@_limit(Settings, "request_timeout", "Seconds in which a request must have come.")
@_limit(Limits, "max_batch", "Texts in a request.")
@_limit(Limits, "max_waiting", "Texts that may wait for a model.")
@_limit(Limits, "timeout", "Seconds that a request waits for its turn at most.")
@click.option(
    "--limit", metavar="NAME.LIMIT=N", multiple=True, help="A limit of one model: max_batch, max_waiting, timeout."
)
@click.option("--annif-learn", is_flag=True, help="Let clients of Annif's interface teach the models.")
@click.option("--watch/--no-watch", default=True, help="Load a model anew when its folder changes.  [default: watch]")
def serve(
    folders: tuple[Path, ...], named: tuple[str, ...], host: str, port: int, token: str | None, token_file: Path | None,
    insecure: bool, allow_host: tuple[str, ...], acts: tuple[str, ...], max_body: int, max_connections: int,
    request_timeout: float, limit: tuple[str, ...], annif_learn: bool, watch: bool, **common: Any,
) -> None:  # fmt: skip
    """Serve one or several models over HTTP: suggestions, reasons, feedback, and a page for people.

    What people teach is recorded in the model folder, at once; where that is read-only, in a file that --acts names,
    which `tacit learn MODEL FILE` brings home. Stop with Ctrl-C: requests that run are finished.

    \b
    Examples:
      tacit serve model
      tacit serve news=models/news law --limit law.max_waiting=64
      TACIT_TOKEN=$(cat token) tacit serve model --host 0.0.0.0
    """
    models = _by_name(folders, named)
    limits = _limits(models, Limits(**common), limit)
    secret = _token(token, token_file)
    if secret is None and not is_local(host) and not insecure:
        raise click.UsageError(
            f"{host} can be reached by others: give a token (TACIT_TOKEN or --token-file), or --insecure to let all in"
        )
    hosts = LOCAL_HOSTS | {name.lower() for name in allow_host} if is_local(host) or allow_host else None
    settings = Settings(secret, max_body, max_connections, request_timeout, hosts, annif_learn)
    _check_extra()
    with quick_start():
        from tacit.server.run import serve as run

    keeps("what people taught and was acknowledged is kept; the same command serves again")
    hand_over()  # requests in progress are finished first
    run(models, limits, settings, host=host, port=port, acts=_acts(models, acts), watch=watch, ready=_announce)


def _check_extra() -> None:
    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("tacit serve", "serve") from None


def _announce(address: str, models: Mapping[str, Any]) -> None:
    for name, served in models.items():
        click.echo(f"serving '{name}': {len(served.tagger.classes_):,} labels")
    click.echo(f"{address}  (stop with Ctrl-C)")


def _by_name(folders: tuple[Path, ...], named: tuple[str, ...]) -> dict[str, Path]:
    """Model folders by the name that callers use: one that was given, or that of the folder."""
    pairs = [(folder.resolve().name, folder) for folder in folders]
    for assignment in named:
        name, equals, path = assignment.partition("=")
        if not equals or not path:
            raise click.UsageError(f"--name is given as NAME=MODEL; got '{assignment}'")
        pairs.append((name, Path(path)))
    if not pairs:
        raise click.UsageError("name at least one model folder to serve")
    found: dict[str, Path] = {}
    for name, folder in pairs:
        if not re.fullmatch(r"[\w.-]+", name):
            raise click.UsageError(
                f"a model must be called by letters, digits, '.', '_' and '-'; got '{name}': use --name"
            )
        if name in found:
            raise click.UsageError(f"two models are called '{name}'; tell them apart with --name NAME=MODEL")
        found[name] = folder
    return found


def _acts(models: Mapping[str, Path], given: tuple[str, ...]) -> dict[str, Path]:
    """Files for acts by model; the name may be left out where there is but one."""
    found = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not equals or name not in models:
            name, path = next(iter(models)), text
            if len(models) > 1:
                raise click.UsageError(f"--acts is given as NAME=FILE where there are several models; got '{text}'")
        found[name] = Path(path)
    return found


def _limits(models: Mapping[str, Path], common: Limits, given: tuple[str, ...]) -> dict[str, Limits]:
    from tacit.errors import did_you_mean

    limits = dict.fromkeys(models, common)
    for assignment in given:
        place, equals, value = assignment.partition("=")
        name, dot, which = place.rpartition(".")
        if not equals or not dot:
            raise click.UsageError(f"--limit is given as NAME.LIMIT=N; got '{assignment}'")
        if name not in limits:
            raise click.UsageError(f"--limit: no model is called '{name}'{did_you_mean(name, limits)}")
        limits[name] = limits[name].changed(which, value)
    return limits


def _token(token: str | None, file: Path | None) -> str | None:
    if file is not None:
        from tacit.data.files import existing_file

        token = existing_file(file).read_text(encoding="utf-8").strip()
    if token is None:
        return None
    if len(token) < 8 or not token.isascii() or not token.isprintable() or " " in token:
        raise click.UsageError("a token must have at least 8 printable ASCII characters and no blanks")
    return token
