import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newProof, notFastForward } from '../../../../core/connectors/codehost/push/fast-forward.ts'
import { readCommits } from '../../../../core/connectors/codehost/push/pack.ts'
import { runSliced } from '../../../../core/sliced.ts'
import { inflate, objectId } from '../../../../sidecar/pipeline/body/git-objects.ts'
import { type GitObject, idOf, insertingDelta, packOf } from '../../../support/git-pack.ts'
import { createGitRepository, type GitRepository } from '../../../support/git-repository.ts'
import { IS_FULL } from '../../../support/proof.ts'

let repository: GitRepository
beforeAll(() => {
  repository = createGitRepository()
})
afterAll(() => repository?.remove())

const PERSON = 'A U Thor <a@example.com> 1700000000 +0000'

function isFastForward(before: string, after: string, pack: Buffer): boolean {
  const commits = runSliced(readCommits(pack, { inflate, objectId }))
  return notFastForward({ ref: 'refs/heads/main', before, after }, newProof(commits, new Set())) === null
}

/** A sequence of numbers that is the same in every run. */
function createDice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

describe('mutated commits: every accepted fast-forward is one for git', () => {
  const dice = createDice(23)
  const pick = <T>(items: readonly T[]): T => items[dice(items.length)] as T

  /** Lines of a commit's header; an item may be several lines. */
  function headerOf(tree: string, parents: readonly string[]): string[] {
    const extras = [
      'encoding ISO-8859-1',
      'gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----',
      `mergetag object ${parents[0]}\n type commit\n tag v1\n tagger ${PERSON}\n \n parent text`,
      'HG:extra source:1',
    ]
    const chosen = extras.filter(() => dice(3) === 0)
    return [
      `tree ${tree}`,
      ...parents.map((id) => `parent ${id}`),
      `author ${PERSON}`,
      `committer ${PERSON}`,
      ...chosen,
    ]
  }

  const swap = (lines: string[]) => {
    const [a, b] = [dice(lines.length), dice(lines.length)]
    const [first, second] = [lines[a] ?? '', lines[b] ?? '']
    lines[a] = second
    lines[b] = first
  }
  const change = (lines: string[], edit: (line: string) => string) => {
    const at = dice(lines.length)
    lines[at] = edit(lines[at] ?? '')
  }
  const insert = (lines: string[], line: string) => lines.splice(dice(lines.length + 1), 0, line)

  const MUTATIONS: ReadonlyArray<(lines: string[], old: string) => void> = [
    () => undefined,
    swap,
    (lines, old) => insert(lines, `parent ${old}`),
    (lines) => insert(lines, pick(lines)),
    (lines) => void lines.splice(dice(lines.length), 1),
    (lines) => change(lines, (line) => `${line}\r`),
    (lines) => change(lines, (line) => ` ${line}`),
    (lines) => change(lines, (line) => line.replace(' ', '  ')),
    (lines) => change(lines, (line) => line.replace(' ', '\t')),
    (lines) => change(lines, (line) => line.toUpperCase()),
    (lines) => change(lines, (line) => `${line}\0`),
    (lines) => change(lines, (line) => line.slice(0, -1)),
    (lines) => change(lines, (line) => `${line}0`),
    (lines) => insert(lines, ''),
    (lines, old) => insert(lines, `gpgsig x\n parent ${old}\nparent ${old}`),
    (lines, old) => insert(lines, `mergetag object ${old}\n parent ${old}`),
    (lines, old) => change(lines, (line) => line.replace(/^parent .*/, `parent ${old.toUpperCase()}`)),
    (lines, old) => change(lines, (line) => line.replace(/^parent .*/, `Parent ${old}`)),
    (lines) =>
      change(lines, (line) => line.replace(/^parent .*/, `parent ${randomBytes(20).toString('hex')}`)),
    (lines, old) => insert(lines, `note x\nparent ${old}`),
  ]

  test('of order, repetition, blanks, line ends, NUL, signatures, merge tags, letters and ids', () => {
    const { git, write } = repository
    const tree = git(['mktree'], '').toString().trim()
    const root = write({
      type: 'commit',
      data: Buffer.from(`${headerOf(tree, []).slice(0, 3).join('\n')}\n\nroot\n`),
    })
    const other = git(['commit-tree', '-m', 'other', tree]).toString().trim()
    const old = git(['commit-tree', '-m', 'old', '-p', root, tree]).toString().trim()
    const count = IS_FULL ? 20_000 : 2_000
    const mutants = Array.from({ length: count }, (_, at) => {
      const parents = pick([[old], [other], [other, old], [root], [root, other], []])
      const lines = headerOf(tree, parents)
      for (let n = dice(3); n >= 0; n--) pick(MUTATIONS)(lines, old)
      const object: GitObject = {
        type: 'commit',
        data: Buffer.from(`${lines.join('\n')}\n\n${at}\n`, 'latin1'),
      }
      return { object, id: idOf(object) }
    })
    const passed = mutants.filter(({ object, id }) => isFastForward(old, id, packOf([object])))
    for (const { object } of passed) write(object)
    const ids = passed.map(({ id }) => id)
    const graph = git(
      ['rev-list', '--parents', '--no-walk=unsorted', '--stdin'],
      `${ids.join('\n')}\n`,
    ).toString()
    const parents = new Map(graph.split('\n').map((line) => [line.slice(0, 40), line.slice(41).split(' ')]))
    const wrong = passed.filter(({ id }) => parents.get(id)?.includes(old) !== true)
    expect(wrong.map(({ object }) => object.data.toString('latin1'))).toEqual([])
    // Enough of both kinds, or the test says nothing.
    expect(passed.length).toBeGreaterThan(count / 20)
    expect(count - passed.length).toBeGreaterThan(count / 2)
  })
})

describe('mutated packs', () => {
  /** False for a pack that git refuses: then nothing is pushed. */
  function isTaken(pack: Buffer): boolean {
    try {
      repository.git(['index-pack', '--fix-thin', '--stdin'], pack)
      return true
    } catch {
      return false
    }
  }

  test('of chains with deltas, tags, wrong and absent objects: every accepted fast-forward is one for git', () => {
    const dice = createDice(5)
    const { git } = repository
    const tree = git(['mktree'], '').toString().trim()
    const root = git(['commit-tree', '-m', 'root', tree]).toString().trim()
    const old = git(['commit-tree', '-m', 'old', '-p', root, tree]).toString().trim()
    const commitOf = (parents: readonly string[], message: string): GitObject => {
      const lines = parents.map((id) => `parent ${id}\n`).join('')
      return {
        type: 'commit',
        data: Buffer.from(`tree ${tree}\n${lines}author ${PERSON}\ncommitter ${PERSON}\n\n${message}\n`),
      }
    }
    const tagOf = (object: string, type: string): GitObject => ({
      type: 'tag',
      data: Buffer.from(`object ${object}\ntype ${type}\ntag t\ntagger ${PERSON}\n\nparent ${old}\n`),
    })
    const count = IS_FULL ? 1_000 : 100
    let passed = 0
    for (let round = 0; round < count; round++) {
      const start = [old, root, old, 'f'.repeat(40)][dice(4)] ?? old
      const chain: GitObject[] = []
      for (let i = 0; i <= dice(4); i++) {
        const last = chain.at(-1)
        chain.push(commitOf([last === undefined ? start : idOf(last)], `${round} ${i}`))
      }
      const tip = chain.at(-1)
      if (tip === undefined) throw new Error('no commits')
      const tag = tagOf(idOf(tip), 'commit')
      const tagOfTag = tagOf(idOf(tag), 'tag')
      const entries: Parameters<typeof packOf>[0][number][] = [...chain]
      const [first, second] = chain
      // A thin pack: the base is in the repository only.
      const kind = dice(3)
      if (kind === 0 && first !== undefined) {
        const base = git(['cat-file', 'commit', old])
        entries[0] = { base: old, delta: insertingDelta(base.length, first.data) }
      } else if (kind === 1 && first !== undefined && second !== undefined) {
        entries[1] = { base: idOf(first), delta: insertingDelta(first.data.length, second.data) }
      }
      if (dice(3) === 0) entries.unshift(tag, tagOfTag)
      if (dice(4) === 0) entries.splice(dice(entries.length), 1)
      const after = [idOf(tip), idOf(tip), idOf(tag), idOf(tagOfTag), old][dice(5)] ?? ''
      const pack = packOf(entries)
      if (!isFastForward(old, after, pack)) continue
      if (!isTaken(pack)) continue
      passed += 1
      // Exits with 1, and so throws, when it is not.
      git(['merge-base', '--is-ancestor', old, after])
    }
    expect(passed).toBeGreaterThan(count / 10)
    expect(passed).toBeLessThan(count)
  })
})

describe('packs that git makes', () => {
  /** `count` commits in a row, then one with a file of `fileBytes` that does not compress; the first and last id. */
  function history(
    branch: string,
    count: number,
    fileBytes: number,
  ): { readonly first: string; readonly last: string } {
    const stream: Array<string | Buffer> = []
    for (let i = 0; i <= count; i++) {
      const text = `change number ${i}\n\nSigned-off-by: A U Thor <a@example.com>\nReviewed-by: Somebody Else <b@example.com>\n`
      stream.push(`commit refs/heads/${branch}\ncommitter ${PERSON}\ndata ${text.length}\n${text}\n`)
      const file = i === count && fileBytes > 0 ? randomBytes(fileBytes) : Buffer.from(`line ${i}\n`)
      stream.push(`M 100644 inline ${i === count ? 'large' : 'small'}\ndata ${file.length}\n`, file, '\n')
    }
    repository.git(['fast-import', '--quiet'], Buffer.concat(stream.map((part) => Buffer.from(part))))
    const ids = repository.git(['rev-list', '--reverse', branch]).toString().trim().split('\n')
    return { first: ids[0] ?? '', last: ids.at(-1) ?? '' }
  }

  const packBetween = (before: string, after: string) =>
    repository.git(
      ['pack-objects', '--revs', '--stdout', '--thin', '--delta-base-offset', '-q'],
      `${after}\n^${before}\n`,
    )
  /** What the gateway reads of a push. */
  const headOf = (pack: Buffer) => pack.subarray(0, 1024 * 1024)

  test(`500 commits and ${IS_FULL ? 200 : 20} MiB of blobs are a fast-forward, and only the head is read`, () => {
    const { first, last } = history('large', 500, (IS_FULL ? 200 : 20) * 1024 * 1024)
    const pack = packBetween(first, last)
    expect(pack.length).toBeGreaterThan(20 * 1024 * 1024)
    expect(isFastForward(first, last, headOf(pack))).toBe(true)
    expect(isFastForward(last, first, headOf(packBetween(last, first)))).toBe(false)
  })

  test('with annotated tags, which git writes among the commits, are a fast-forward', () => {
    const { first, last } = history('tagged', 50, 0)
    for (const back of [0, 7, 20, 49])
      repository.git(['tag', '-a', '-m', 'a tag', `t${back}`, `tagged~${back}`])
    const pack = repository.git(
      ['pack-objects', '--revs', '--stdout', '--thin', '--delta-base-offset', '-q'],
      `${last}\nt0\nt7\nt20\n^${first}\n`,
    )
    expect(isFastForward(first, last, pack)).toBe(true)
  })

  test('of a rewritten branch are none', () => {
    const { last } = history('kept', 3, 0)
    const tree = repository.git(['rev-parse', 'kept^{tree}']).toString().trim()
    const rewritten = repository.git(['commit-tree', '-m', 'other', '-p', 'kept~2', tree]).toString().trim()
    expect(isFastForward(last, rewritten, packBetween(last, rewritten))).toBe(false)
  })
})
