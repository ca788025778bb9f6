import { describe, expect, test } from 'vitest'
import { ip6tablesRules, iptablesRules, iptablesScript } from '../../../core/capture/iptables.ts'

describe('the rules for gVisor', () => {
  test('redirect the traffic of all users but the proxy, whose probes are redirected as well', () => {
    const [nat = ''] = iptablesRules('7').split('*filter')
    expect(nat).toBe(`*nat
:INPUT ACCEPT
:PREROUTING ACCEPT
:POSTROUTING ACCEPT
:OUTPUT ACCEPT
-A OUTPUT -o lo -j ACCEPT
-A OUTPUT -p tcp --sport 61000:61015 -m owner --uid-owner 7 --dport 443 -j REDIRECT --to-ports 15443
-A OUTPUT -p tcp --sport 61000:61015 -m owner --uid-owner 7 --dport 80 -j REDIRECT --to-ports 15080
-A OUTPUT -p tcp --sport 61000:61015 -m owner --uid-owner 7 -j REDIRECT --to-ports 15001
-A OUTPUT -m owner --uid-owner 7 -j ACCEPT
-A OUTPUT -p udp --dport 53 -j REDIRECT --to-ports 15053
-A OUTPUT -p tcp --dport 53 -j REDIRECT --to-ports 15053
-A OUTPUT -p tcp --dport 443 -j REDIRECT --to-ports 15443
-A OUTPUT -p tcp --dport 80 -j REDIRECT --to-ports 15080
-A OUTPUT -p tcp -j REDIRECT --to-ports 15001
COMMIT
`)
  })

  test('drop what is not redirected, IPv6 included', () => {
    const [, filter = ''] = iptablesRules('7').split('*filter\n')
    expect(filter).toBe(`:INPUT ACCEPT
:FORWARD ACCEPT
:OUTPUT DROP
-A OUTPUT -d 127.0.0.0/8 -p tcp --sport 61000:61015 -m owner --uid-owner 7 -j ACCEPT
-A OUTPUT -d 127.0.0.0/8 -p udp --dport 15053 -m owner --uid-owner 7 -j DROP
-A OUTPUT -d 127.0.0.0/8 -p tcp --dport 15443 -m owner --uid-owner 7 -j DROP
-A OUTPUT -d 127.0.0.0/8 -p tcp --dport 15080 -m owner --uid-owner 7 -j DROP
-A OUTPUT -d 127.0.0.0/8 -p tcp --dport 15001 -m owner --uid-owner 7 -j DROP
-A OUTPUT -d 127.0.0.0/8 -p tcp --dport 15053 -m owner --uid-owner 7 -j DROP
-A OUTPUT -o lo -p tcp --dport 15021 -m owner ! --uid-owner 7 -j DROP
-A OUTPUT -o lo -j ACCEPT
-A OUTPUT -d 127.0.0.0/8 -j ACCEPT
-A OUTPUT -p tcp --sport 61000:61015 -m owner --uid-owner 7 -j DROP
-A OUTPUT -m owner --uid-owner 7 -j ACCEPT
-A OUTPUT -p tcp --sport 1:32767 -j ACCEPT
COMMIT
`)
    expect(ip6tablesRules()).toBe(
      '*filter\n:INPUT ACCEPT\n:FORWARD ACCEPT\n:OUTPUT DROP\n-A OUTPUT -o lo -j ACCEPT\nCOMMIT\n',
    )
  })

  test('use only what gVisor has, and stay under 8 KiB for each table', () => {
    const text = iptablesRules('1999999999') + ip6tablesRules()
    expect(text).not.toMatch(/conntrack|comment|state|REJECT|multiport|! -[ipo]|! --[sd]port/)
    // ipt_entry (112 bytes), the matches tcp (48) and owner (64), and the target REDIRECT (56), aligned to 8.
    const rules = text.split('COMMIT').map((table) => table.match(/^-A/gm)?.length ?? 0)
    for (const count of rules) expect(count * 280 + 5 * 176).toBeLessThan(8_192)
  })

  test('are in the program with the uid as its parameter', () => {
    expect(iptablesScript()).toContain(
      `restore iptables-legacy-restore <<RULES\n${iptablesRules('$uid')}RULES\n`,
    )
    expect(iptablesScript()).toContain('--uid-owner $uid ')
  })
})
