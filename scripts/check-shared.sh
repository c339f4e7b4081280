#!/usr/bin/env bash
# check-shared.sh SHARED: the small real sites and their questions. SHARED is the folder with eval/.
set -euo pipefail
shared=${1:?usage: check-shared.sh SHARED}
[[ -d $shared/eval ]] || { echo "there is no $shared/eval: this target needs the folder with the evaluation data"; exit 1; }
sites=.cache/sites
bash "$shared/eval/fetch-sites.sh" "$sites" >/dev/null
python3 scripts/checksites.py ./docseek "$sites" "$shared/eval/questions" --floor hybrid:0.60:0.79 griffe gatekeeper-vitepress
scripts/check-schemas.sh "$shared/schemas"
