#!/bin/sh
# Make IMEX channel 0 for one group, or say why not.
# Usage: rackstack-imex-channels GROUP
set -eu
folder=/dev/nvidia-caps-imex-channels
major=$(sed -n 's/^ *\([0-9]*\) nvidia-caps-imex-channels$/\1/p' /proc/devices)
if [ -z "$major" ]; then
    echo "/proc/devices has no nvidia-caps-imex-channels, so the driver is not loaded or knows no IMEX"
    exit 1
fi
mkdir -p "$folder"
chmod 0755 "$folder"
# The number may be another one after each start of the host.
rm -f "$folder/channel0"
mknod "$folder/channel0" c "$major" 0
chgrp "$1" "$folder/channel0"
chmod 0660 "$folder/channel0"
