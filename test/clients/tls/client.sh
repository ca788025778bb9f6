# Connects to each case over TLS and prints `HOST ok` or `HOST refused ERROR`; the cases are "HOST PORT" lines.
while read -r host port; do
  case $host in *:*) name="[$host]" ;; *) name=$host ;; esac
  error=$(curl -sS -m 10 -o /dev/null --noproxy '*' --cacert "$2" --connect-to "$name:443:127.0.0.1:$port" "https://$name/" 2>&1 | head -1)
  if [ -z "$error" ]; then echo "$host ok"; else echo "$host refused $error"; fi
done < "$1"
