#!/bin/sh
# Whether the tests would notice: puts one bug at a time into the library and expects that the test
# which is there for it fails. The bugs are in the source, behind the feature `seeded-bugs`; one
# build has them all, and switches on the one that TABWIRE_SEEDED_BUG names.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# Each bug, and the test that notices it.
bugs='
any-word-for-files hub::tests::consents::a_question_about_files_shows_them_takes_its_own_words_alone_and_ends_after_ten_minutes
far-owners-see-every-tab hub::tests::far_owners::an_owner_sees_its_own_tabs_unless_shared_ones_were_chosen_and_never_all
far-owners-told-of-every-site hub::tests::far_owners::recorded_streams_tell_nothing_of_a_page_or_a_request_of_a_site_without_a_word
far-words-of-clients hub::tests::far_owners::a_word_holds_for_each_client_of_its_owner_and_for_no_other_owner
go-before-the-journal hub::tests::recorded::go_leaves_after_the_start_is_recorded_and_other_frames_do_not_wait_for_it
job-begins-again lifecycle::command::tests::host_tasks::row_28_a_job_that_had_begun_is_over
kept-word-for-private-windows hub::tests::private_tabs::a_word_on_a_private_window_is_on_one_command_alone
late-close-evicts-the-new-link hub::tests::links::a_takeover_redelivers_what_was_not_begun_and_a_late_end_of_the_old_link_is_harmless
lost-wake-up hub::tests::waiting::a_wait_wakes_at_once_at_whatever_moment_of_it_the_command_ends
polled-again hub::tests::pollers::a_polled_command_is_not_offered_again_to_the_same_life
redelivery-after-start lifecycle::command::tests::rows::row_11_a_started_command_waits_for_its_browser
skipped-owner-check hub::tests::ending::cancel_reaches_the_page_and_says_whether_it_may_have_run
unbounded-scopes hub::tests::scopes::each_guessed_id_answers_exactly_as_one_that_does_not_exist
'
named=$(grep -rhoE 'seeded_bug::is_on\("[a-z-]+"\)' src | cut -d '"' -f 2 | sort -u)
listed=$(echo "$bugs" | cut -d ' ' -f 1 | sed '/^$/d' | sort)
[ "$named" = "$listed" ] || { echo "a bug in src has no test here, or the other way round" >&2; exit 1; }

run() {
    "$cargo" test --locked --quiet --lib --features seeded-bugs -- --exact "$@" >"$said" 2>&1
}

# Without any bug they pass: what fails below fails by the bug.
run $(echo "$bugs" | cut -d ' ' -f 2) || { cat "$said" >&2; exit 1; }
count=$(echo "$listed" | wc -l)
grep -q "^test result: ok. $count passed" "$said" || { cat "$said" >&2; echo "a test that is named here is not there" >&2; exit 1; }

# Bugs of the engine that the search through any order of events finds as well.
for bug in redelivery-after-start late-close-evicts-the-new-link; do
    if TABWIRE_SEEDED_BUG=$bug "$cargo" test --locked --quiet --test proofs \
        --features seeded-bugs no_order_of_events_breaks_a_promise >"$said" 2>&1; then
        echo "$bug: no order of events shows it" >&2
        exit 1
    fi
    grep -q "^test result: FAILED. 0 passed; 1 failed" "$said" || { cat "$said" >&2; exit 1; }
    echo "$bug: noticed by the proofs"
done

echo "$bugs" | while read -r bug test; do
    [ -n "$bug" ] || continue
    if TABWIRE_SEEDED_BUG=$bug run "$test"; then
        echo "$bug: $test passes all the same" >&2
        exit 1
    fi
    # It must be that test which failed, not the build or its name.
    grep -q "^test result: FAILED. 0 passed; 1 failed" "$said" || {
        cat "$said" >&2
        echo "$bug: $test was not run" >&2
        exit 1
    }
    echo "$bug: noticed by $test"
done
