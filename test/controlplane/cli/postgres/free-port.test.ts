import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { freePort } from '../../../../controlplane/cli/postgres/free-port.ts'

test.skipIf(process.platform !== 'linux')(
  'a chosen port is none that the system gives to connections, so that a server finds it free when it is started again',
  async () => {
    const [first] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t').map(Number)
    const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()))
    expect(Math.max(...ports)).toBeLessThan(first as number)
    expect(new Set(ports).size).toBeGreaterThan(40)
  },
)
