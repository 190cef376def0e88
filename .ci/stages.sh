# Sourced by the scripts beside it: stages with their times.

# Where the times of all stages are noted, also by scripts that are started by others.
if [ -z "${STAGE_TIMES:-}" ]; then
    STAGE_TIMES=$(mktemp)
    export STAGE_TIMES
    trap 'rm -f "$STAGE_TIMES"' EXIT
fi

# stage NAME COMMAND…: runs the command and says how long it took.
stage() {
    local name=$1 began=$SECONDS
    shift
    echo "==> $name: $*"
    "$@"
    echo "<== $name: $((SECONDS - began)) s"
    printf '%6d s  %s\n' $((SECONDS - began)) "$name" >>"$STAGE_TIMES"
}

# The stages that took longest.
slowest_stages() {
    echo "Slowest stages:"
    sort -rn "$STAGE_TIMES" | head -5
}
