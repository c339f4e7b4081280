#!/usr/bin/env bash
# Holds the files of deploy/ to the programs that read them: check-deploy.sh BINARY
# What can be told from docseek itself is tested in deploy/.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${1:?usage: check-deploy.sh BINARY}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Program and Debian package.
missing=()
for pair in nginx:nginx-light promtool:prometheus caddy:caddy systemd-analyze:systemd openssl:openssl; do
  command -v "${pair%:*}" >/dev/null || [[ -x /usr/sbin/${pair%:*} ]] || missing+=("${pair#*:}")
done
if ((${#missing[@]})); then
  if [[ $EUID != 0 ]]; then
    echo "check-deploy: needs: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  apt-get update -qq
  # A package's service is not to start: policy-rc.d is what Debian asks.
  [[ -e /usr/sbin/policy-rc.d ]] || { printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; }
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
PATH=$PATH:/usr/sbin

echo "== Kubernetes: every object is of the API's types"
(cd scripts/kubecheck && go run . "$OLDPWD"/deploy/kubernetes/{namespace,config,qdrant,server,scheduler,cronjob,networkpolicy}.yaml)

echo "== systemd"
for unit in docseek.service docseek-reindex.service docseek-reindex.timer; do
  sed "s|/usr/local/bin/docseek|$binary|" "deploy/systemd/$unit" >"$scratch/$unit"
done
# It ends with 0 whatever it finds; what it finds about these units is a fault.
found=$(systemd-analyze verify "$scratch"/docseek.service "$scratch"/docseek-reindex.{service,timer} 2>&1 | grep docseek || true)
if [[ -n $found ]]; then echo "$found"; exit 1; fi
systemd-analyze security --offline=true --threshold=30 "$scratch/docseek.service" | tail -n 1

echo "== nginx"
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=mcp.example.com -keyout "$scratch/key" -out "$scratch/cert" 2>/dev/null
sed -e "s|/etc/ssl/certs/mcp.example.com.pem|$scratch/cert|" -e "s|/etc/ssl/private/mcp.example.com.key|$scratch/key|" \
  -e "s|/var/log/nginx/docseek.log|$scratch/log|" -e "s|/run/nginx.pid|$scratch/pid|" deploy/nginx.conf >"$scratch/nginx.conf"
nginx -t -q -e "$scratch/error" -c "$scratch/nginx.conf"

echo "== Caddy"
caddy validate --adapter caddyfile --config deploy/Caddyfile >"$scratch/caddy" 2>&1 || { cat "$scratch/caddy"; exit 1; }

echo "== Prometheus"
promtool check rules deploy/prometheus/rules.yaml
cp deploy/prometheus/rules.yaml deploy/prometheus/scrape.yaml "$scratch"
promtool check config "$scratch/scrape.yaml"
