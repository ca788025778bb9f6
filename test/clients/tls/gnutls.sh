# As client.sh, with a client of GnuTLS (git or wget) behind an HTTP proxy that connects to the port on this machine.
export https_proxy="$4" HOME="$PWD" GIT_TERMINAL_PROMPT=0
unset GIT_SSL_CAINFO GIT_SSL_CAPATH
unset no_proxy NO_PROXY
while read -r host port; do
  case $host in *:*) name="[$host]" ;; *) name=$host ;; esac
  if [ "$3" = git ]; then
    error=$(git -c http.sslCAInfo="$PWD/$2" ls-remote "https://$name:$port/a.git" 2>&1 | grep -i certificate | head -1)
  else
    error=$(wget -T 10 -t 1 -O /dev/null --ca-certificate="$2" "https://$name:$port/" 2>&1 | grep -i '^error.*certificate' | head -1)
    if [ -z "$error" ]; then wget -q -T 10 -t 1 -O /dev/null --ca-certificate="$2" "https://$name:$port/" || error="exit code $?"; fi
  fi
  if [ -z "$error" ]; then echo "$host ok"; else echo "$host refused $error"; fi
done < "$1"
