import { expect, test } from 'vitest'
import { createIdentities } from '../../../controlplane/services/identities.ts'
import type { Db } from '../../../controlplane/store/query.ts'

/** A database whose answers wait for `answer`. */
function database() {
  const waiting: Array<() => void> = []
  const query: Db['query'] = async () => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    return { rows: [], rowCount: 0 }
  }
  return { db: { query } as Db, waiting, answer: () => waiting.splice(0).map((resolve) => resolve()) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test.each(['gateway tokens', 'sessions'])(
  'a flood of unknown %s leaves connections of the pool to the kill switch and to beats',
  async (kind) => {
    const { db, waiting, answer } = database()
    const identities = createIdentities({
      ...{ db, podToken: null, operatorToken: null, clusterCallers: null, vouchFor: async () => 'unchanged' },
    })
    const shown = Array.from({ length: 500 }, (_, n) =>
      kind === 'sessions'
        ? identities.session([`wrong${n}`], undefined, false)
        : identities.gatewayToken(`wrong${n}`, false),
    )
    await turn()
    expect(waiting.length).toBeGreaterThan(0)
    expect(waiting.length).toBeLessThanOrEqual(3)
    const all = Promise.all(shown)
    let isDone = false
    void all.finally(() => {
      isDone = true
    })
    while (!isDone) {
      answer()
      await turn()
    }
    expect(new Set(await all)).toEqual(new Set([undefined]))
  },
)

test.each(['gateway tokens', 'sessions'])(
  'a flood of unknown %s delays the look-ups of its own network, and nobody else by more than a turn',
  async (kind) => {
    const { db, waiting, answer } = database()
    const identities = createIdentities({
      ...{ db, podToken: null, operatorToken: null, clusterCallers: null, vouchFor: async () => 'unchanged' },
    })
    const show = (secret: string, address: string) =>
      kind === 'sessions'
        ? identities.session([secret], undefined, false, address)
        : identities.gatewayToken(secret, false, address)
    const flood: Promise<unknown>[] = []
    for (let n = 0; n < 2_000; n++) flood.push(show(`wrong${n}`, `2001:db8::${n.toString(16)}`))
    await turn()
    let isAnswered = false
    const other = show('right', '203.0.113.9').finally(() => {
      isAnswered = true
    })
    let answers = 0
    while (!isAnswered) {
      answers += answer().length
      await turn()
    }
    // Those that ran, one of the flood whose turn it was, and its own.
    expect(answers).toBeLessThanOrEqual(9)
    void other
    let isDone = false
    void Promise.all(flood).finally(() => {
      isDone = true
    })
    while (!isDone) {
      answer()
      await turn()
    }
    expect(waiting).toEqual([])
  },
)
