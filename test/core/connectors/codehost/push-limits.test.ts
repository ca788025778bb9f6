import { describe, expect, test } from 'vitest'
import { scanCommands } from '../../../../core/connectors/codehost/push/commands.ts'
import {
  MAX_WALK_STEPS,
  newProof,
  notFastForward,
} from '../../../../core/connectors/codehost/push/fast-forward.ts'
import { PACK_BUDGET, type PackTools, readCommits } from '../../../../core/connectors/codehost/push/pack.ts'
import { inflate, objectId } from '../../../../sidecar/pipeline/body/git-objects.ts'
import { type GitObject, insertingDelta, packOf } from '../../../support/git-pack.ts'

const TREE = `tree ${'4'.repeat(40)}\n`
const END = 'author a\ncommitter b\n\n'
const commit = (message: string, header = ''): GitObject => ({
  type: 'commit',
  data: Buffer.from(`${TREE}${header}${END}${message}`, 'latin1'),
})
const many = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n))
/** Does not compress below the ratio. */
const noise = (bytes: number, seed: number) => {
  let state = seed + 1
  return many(bytes, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return String.fromCharCode(33 + ((state >>> 16) % 90))
  }).join('')
}

/** Reads all slices; what each inflated. */
function sliceBytes(pack: Buffer) {
  const slices: number[] = [0]
  const tools: PackTools = {
    inflate(from, size) {
      slices[slices.length - 1] = (slices.at(-1) ?? 0) + size
      return inflate(from, size)
    },
    objectId,
  }
  const work = readCommits(pack, tools)
  for (;;) {
    const step = work.next()
    if (step.done === true) return { slices, commits: step.value, total: slices.reduce((a, b) => a + b) }
    slices.push(0)
  }
}

describe('reading the commits of a push', () => {
  const MAX_SLICE = PACK_BUDGET.sliceBytes + PACK_BUDGET.objectBytes

  test.each<[string, Buffer]>([
    ['commits as large as may be', packOf(many(70, (n) => commit(noise(60_000, n))))],
    ['two thousand small commits', packOf(many(2_000, (n) => commit(`${n}`)))],
    ['tags', packOf(many(300, (n) => ({ type: 'tag', data: Buffer.from(noise(20_000, n)) }) as const))],
    [
      'thousands of parents',
      packOf(many(60, (n) => commit(`${n}`, `parent ${'a'.repeat(40)}\n`.repeat(1_300)))),
    ],
    ['a chain of deltas', chainOfDeltas(60)],
  ])('takes slices of bounded size: %s', (_what, pack) => {
    const { slices, total } = sliceBytes(pack)
    expect(Math.max(...slices)).toBeLessThanOrEqual(MAX_SLICE)
    expect(total).toBeLessThanOrEqual(PACK_BUDGET.bytes)
    expect(slices.length).toBeGreaterThanOrEqual(Math.floor(total / MAX_SLICE))
  })

  function chainOfDeltas(length: number): Buffer {
    const data = (n: number) => Buffer.from(`${TREE}${END}${noise(30_000, n)}`)
    const first: GitObject = { type: 'commit', data: data(0) }
    const base = objectId('commit', first.data)
    const deltas = many(length, (n) => ({ base, delta: insertingDelta(first.data.length, data(n + 1)) }))
    return packOf([first, ...deltas])
  }

  const ZEROS = Buffer.alloc(4 * 1024 * 1024)
  test.each<[string, Buffer, string]>([
    ['a commit of 4 MiB', packOf([{ type: 'commit', data: ZEROS }]), 'budget'],
    ['a tag of 4 MiB', packOf([{ type: 'tag', data: ZEROS }]), 'budget'],
    ['a tree of 4 MiB', packOf([{ type: 'tree', data: ZEROS }]), 'complete'],
    ['a blob of 4 MiB', packOf([{ type: 'blob', data: ZEROS }]), 'complete'],
    ['a delta of 4 MiB', packOf([commit('x'), { base: { back: 200 }, delta: ZEROS }]), 'base'],
    ['a delta on an unknown base', packOf([{ base: 'a'.repeat(40), delta: ZEROS }]), 'base'],
    ['commits of zeros', packOf(many(60, (n) => commit('x'.repeat(60_000) + n))), 'budget'],
  ])('stops before it inflates %s', (_what, pack, end) => {
    const { commits, total } = sliceBytes(pack)
    expect(commits.end).toBe(end)
    expect(total).toBeLessThanOrEqual(PACK_BUDGET.objectBytes * 3)
  })

  test('a delta that makes 64 MiB of a few bytes is not applied', () => {
    const base = commit('x')
    const size = 64 * 1024 * 1024
    const sizes = [
      base.data.length & 0x7f,
      ...[0, 7, 14, 21].map((s) => ((size >> s) & 0x7f) | (s < 21 ? 0x80 : 0)),
    ]
    const delta = Buffer.from([...sizes, ...many(1_000, () => 0x80)])
    const { commits } = sliceBytes(packOf([base, { base: objectId('commit', base.data), delta }]))
    expect(commits.end).toBe('malformed')
  })

  test('all references of a push share one bound of steps', () => {
    const parents = new Map(many(2_000, (n) => [`c${n}`, many(30, (i) => `c${n + i + 1}`)] as const))
    const commits = { parents, unreadable: new Map(), end: 'complete', trees: null } as const
    const proof = newProof(commits, new Set())
    const reasons = many(512, (n) =>
      notFastForward({ ref: `refs/heads/${n}`, before: 'none', after: 'c0' }, proof),
    )
    expect(proof.steps.left).toBeGreaterThan(-100)
    expect(reasons.every((reason) => reason !== null)).toBe(true)
    expect(reasons.at(-1)).toContain('push them in several steps')
    expect(MAX_WALK_STEPS).toBeLessThanOrEqual(100_000)
  })
})

describe('a scan of commands that arrive byte by byte', () => {
  const line = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text
  const [A, B] = ['a'.repeat(40), 'b'.repeat(40)]
  const command = (n: number, more = '') => line(`${A} ${B} refs/heads/${n}${more}`)

  test.each<[string, string]>([
    ['one command', `${command(0)}0000`],
    ['the most commands', `${many(512, command).join('')}0000`],
    ['options', `${command(0, '\0 push-options')}0000${line('a')}0000`],
    ['an empty push', '0000'],
    ['lines without end', line('x').repeat(50_000)],
    ['a length that is none', 'zzzz'],
    ['a line of one byte', '0001'.repeat(1_000)],
  ])('looks at each line once: %s', (_what, text) => {
    const bytes = Buffer.from(text)
    const scan = scanCommands()
    let calls = 0
    let wanted = 0
    for (let length = 0; length <= bytes.length; length++) {
      if (length < wanted) continue
      calls += 1
      wanted = scan(bytes.subarray(0, length))
      if (wanted <= length) break
    }
    expect(wanted).toBeLessThanOrEqual(bytes.length)
    expect(calls).toBeLessThanOrEqual(2 * 1_026 + 2)
  })
})
