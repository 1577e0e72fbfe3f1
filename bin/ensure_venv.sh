# Sourced by the launchers, which set `root` and `profile` (run, test or fuzz). Sets `python` to a Python with the packages of bin/lock.
# A normal start only compares two small files, written by bin/setup.py, and runs neither Python nor pip.
# Bytecode is written even if the environment disables it, as many images and CI services do: without it, a start takes twice as long.
unset PYTHONDONTWRITEBYTECODE
python=$root/.venv/bin/python
notes=$root/.venv/lib/coind
made_for=
[ ! -r "$notes/made-for" ] || IFS= read -r made_for <"$notes/made-for"

if [ "$made_for" != "$root" ] || [ ! -x "$python" ] || ! cmp -s "$root/bin/lock/$profile.txt" "$notes/$profile.txt"; then
    # tomllib came with Python 3.11; Debian leaves ensurepip to its package python3-venv.
    # coincurve has no wheel for Python 3.14 yet, so 3.14 is only used if there is no other.
    for maker in python3 python3.13 python3.12 python3.11 python3.14 ''; do
        "$maker" -I -c 'import ensurepip, sys, tomllib, venv; sys.exit(sys.argv[1] == "python3" and sys.version_info >= (3, 14))' "$maker" \
            2>/dev/null && break
    done
    if [ -z "$maker" ]; then
        if python3 -I -c 'import tomllib' 2>/dev/null; then
            echo "coind: $(command -v python3) has no venv and pip. On Debian or Ubuntu: apt install python3-venv" >&2
        else
            echo "coind: Python 3.11 or newer is needed, with venv and pip. python3 here: $(python3 --version 2>/dev/null || echo none)" >&2
        fi
        exit 1
    fi
    "$maker" -I "$root/bin/setup.py" "$profile" || exit
fi
