#!/bin/sh
# Tries every row of the table in docs/security.md that somebody could get in by, and counts what
# was tried and refused. Fails if anything got in, or if a row was not tried at all.
set -eu

cargo=${CARGO:-cargo}
rows=$(sed -n 's/^| \([0-9][0-9]*\) | .*/\1/p' docs/security.md)
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# Rows that are tried where what keeps them out is tested.
elsewhere='test(=connection::limits::another_users_connection_is_closed_before_a_byte_is_read)
    + test(=connection::links::a_reader_that_never_reads_loses_its_link_and_no_command_is_lost_with_it)
    + test(/^daemon::secrecy::/)
    + test(=daemon::program::a_daemon_listens_on_the_loopback_only_and_no_flag_changes_that)
    + test(/(^|::)command_view::/)
    + test(/^reach::(line|carried|place_run)::/)'

# Of the whole workspace, as the other tests are: another choice of features would build everything anew.
"$cargo" nextest run --locked --workspace --test it --success-output final --status-level fail \
    --filterset "test(/^hostile::/) + $elsewhere" >"$said" 2>&1 || { cat "$said"; exit 1; }

awk -v rows="$(echo $rows)" '
    match($0, /hostile row [0-9]+: [0-9]+ tried, [0-9]+ refused/) {
        split(substr($0, RSTART, RLENGTH), part, /[ :,]+/)
        tried[part[3]] += part[4]; refused[part[3]] += part[6]
    }
    match($0, /hostile p99: [0-9]+ ms of [0-9]+ commands/) {
        split(substr($0, RSTART, RLENGTH), part, /[ :]+/)
        commands += part[6]
        if (part[3] > slowest) slowest = part[3]
    }
    END {
        wanted = split(rows, number, " ")
        for (i = 1; i <= wanted; i++) {
            row = number[i]
            if (row in tried) {
                printf "row %2d: %5d tried, %5d refused\n", row, tried[row], refused[row]
                done++; all += tried[row]; kept += refused[row]
            } else if (row == 6) {
                print "row  6: not tried: only root on Linux can be another user"
            } else if (row == 58) {
                print "row 58: `make fleet` tries it, in the build that has it"
            } else {
                printf "row %2d: NOT TRIED\n", row; missing = 1
            }
        }
        printf "hostile: %d of %d rows, %d tried, %d refused\n", done, wanted, all, kept
        printf "others meanwhile: %d commands, %d ms at the worst 99th percentile\n", commands, slowest
        exit missing || kept != all
    }' "$said"
