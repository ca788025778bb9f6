import { expect, it } from 'vitest'
import { supervise } from '../../../../controlplane/cli/programs/supervisor.ts'

type Fake = { readonly exited: Promise<string>; stop(): Promise<void>; die(how: string): void }

function fake(): Fake {
  const { promise, resolve } = Promise.withResolvers<string>()
  return { exited: promise, stop: async () => resolve('stopped'), die: resolve }
}

function setup(start: () => Promise<Fake>) {
  const said: string[] = []
  const first = fake()
  const waiters: Array<() => void> = []
  const say = (line: string) => {
    said.push(line)
    for (const wake of waiters.splice(0)) wake()
  }
  const kept = supervise({
    first,
    start,
    onExit: (exit, ms) => say(`died ${exit}, again in ${ms}`),
    onFailure: (error, ms) => say(`failed ${(error as Error).message}, again in ${ms}`),
    onRestarted: () => say('back'),
    backOffMs: [1, 4],
  })
  const until = async (line: string) => {
    while (!said.includes(line)) await new Promise<void>((resolve) => waiters.push(resolve))
  }
  return { kept, first, said, until }
}

it('restarts a process that has exited, and reports it', async () => {
  const second = fake()
  const { kept, first, said, until } = setup(async () => second)
  first.die('by SIGKILL')
  await until('back')
  expect(said).toEqual(['died by SIGKILL, again in 1', 'back'])
  expect(kept.current()).toBe(second)
  await kept.stop(10)
})

it('waits longer after each failure, up to the maximum backoff', async () => {
  let failures = 0
  const { kept, first, said, until } = setup(async () => {
    failures += 1
    if (failures > 4) return fake()
    throw new Error('no')
  })
  first.die('x')
  await until('back')
  expect(said).toEqual([
    'died x, again in 1',
    'failed no, again in 2',
    'failed no, again in 4',
    'failed no, again in 4',
    'failed no, again in 4',
    'back',
  ])
  await kept.stop(10)
})

it('does not restart a process that was stopped', async () => {
  let starts = 0
  const { kept, said } = setup(async () => {
    starts += 1
    return fake()
  })
  await kept.stop(10)
  expect([starts, said]).toEqual([0, []])
})
