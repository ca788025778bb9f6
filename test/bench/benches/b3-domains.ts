import { cpuUs, rssMib } from '../../support/processes.ts'
import type { Target } from '../../support/tunnel.ts'
import { openTunnel } from '../../support/tunnel.ts'
import type { Bench } from '../main.ts'
import { eachSubject } from '../support/each.ts'
import { absolute, compare } from '../support/report.ts'
import type { Subject } from '../support/subject.ts'

/** Names never seen before (mint + handshake), then the same ones again. Only proxies that mint take part. */
export const domains: Bench = async (context) => {
  const cold = new Map<string, number>()
  const warm = new Map<string, number>()
  let perDomainKib = Number.NaN
  let perManyKib = Number.NaN
  const many = context.isQuick ? 500 : 5_000
  await eachSubject(
    context,
    async (subject) => {
      const count = subject.name === 'http-mitm-proxy' ? 30 : 300
      await handshakes(subject.target, 'warm-up', 20)
      const start = cpuUs(subject.pid)
      const rss = rssMib(subject.pid).now
      await handshakes(subject.target, 'd', count)
      const middle = cpuUs(subject.pid)
      if (subject.name === 'chaperone') perDomainKib = ((rssMib(subject.pid).now - rss) * 1_024) / count
      await handshakes(subject.target, 'd', count)
      cold.set(subject.name, (middle - start) / count / 1_000)
      warm.set(subject.name, (cpuUs(subject.pid) - middle) / count / 1_000)
      if (subject.name === 'chaperone') perManyKib = await growthKib(subject, many)
    },
    ['chaperone', 'http-mitm-proxy', 'mockttp', 'mitmdump'],
  )
  return [
    ...compare('B3', 'cold domain ms CPU', cold, {
      mitmdump: 1 / 4,
      mockttp: 1 / 6,
      'http-mitm-proxy': 1 / 60,
    }),
    ...compare('B3', 'warm domain ms CPU', warm),
    absolute('B3', 'memory per domain KiB (RSS growth), 300 names', perDomainKib, null),
    absolute('B3', `the same, ${many} names more`, perManyKib, 10),
  ]
}

async function growthKib({ pid, target }: Subject, count: number): Promise<number> {
  const before = rssMib(pid).now
  await handshakes(target, 'many', count)
  return ((rssMib(pid).now - before) * 1_024) / count
}

async function handshakes(target: Target, prefix: string, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const socket = await openTunnel(target, `${prefix}${i}.bench.example`)
    socket.destroy()
  }
}
