#!/usr/bin/env bash
# interrupt_jobs.sh COMMON FOLDER: ends a script with jobs in the background as Ctrl-C does, and says what the first job read from its input
# and whether it ended with the script. COMMON is scripts/common.sh.
set -u
common=$1 folder=$2
rm -rf "$folder" && mkdir -p "$folder"
cat >"$folder/script.sh" <<TEXT
source "$common"
job() { wc -c >"$folder/\$1.bytes"; echo \$\$ >"$folder/\$1.pid"; exec sleep 600; }
export -f job
printf 'first\\0second\\0' >"$folder/jobs"
run_side_by_side job 1 "$folder/jobs"
sleep 600
TEXT
mkfifo "$folder/input"
exec 3<>"$folder/input" # open, so that who reads it waits
setsid env --default-signal=INT bash "$folder/script.sh" <&3 &
script=$!
for ((tries = 0; tries < 100; ++tries)); do [[ -s $folder/first.pid ]] && break; sleep 0.1; done
echo "first job: pid $([[ -s $folder/first.pid ]] && echo known || echo missing), $(cat "$folder/first.bytes") bytes read"
kill -INT -- "-$script"
wait "$script" 2>/dev/null
for ((tries = 0; tries < 100; ++tries)); do kill -0 "$(cat "$folder/first.pid")" 2>/dev/null || break; sleep 0.1; done
kill "$(cat "$folder/first.pid")" 2>/dev/null && echo "first job: still there" || echo "first job: ended"
