#!/bin/sh
# Put rules in force, once a timer is armed that brings back those from before.
# Usage: apply.sh NFT TABLE RULES BACK UNIT SECONDS (TABLE is one argument of two words: family and name)
# shellcheck disable=SC2086 # $table is two words
set -eu
nft=$1 table=$2 rules=$3 back=$4 unit=$5 seconds=$6

# A run that was broken off before its proof: what it had put in force is not what to come back to.
if systemctl is-active --quiet "$unit.timer"; then
    "$nft" -f "$back"
    systemctl stop "$unit.timer"
fi
systemctl reset-failed "$unit.service" 2>/dev/null || true

umask 077
{
    echo "table $table"
    echo "delete table $table"
    "$nft" -s list table $table 2>/dev/null || true
} >"$back"
systemd-run --quiet --unit="$unit" --on-active="$seconds" --timer-property=AccuracySec=100ms --collect \
    "$nft" -f "$back"

# Connections that began before anything was tracked (a checkpoint on its way) would be cut: let the kernel see them.
if ! "$nft" list table $table >/dev/null 2>&1; then
    echo "table $table { chain input { type filter hook input priority filter; ct state established accept; }; }" |
        "$nft" -f -
    sleep 1
fi
"$nft" -f "$rules"
