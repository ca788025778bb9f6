import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  type GitObject,
  idOf,
  insertingDelta,
  type Move,
  packOf,
  pushBody,
} from '../../../support/git-pack.ts'
import { boundOf, nameRequest } from '../golden.ts'

const OLD = '1'.repeat(40)
const TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
const PERSON = 'A U Thor <a@example.com> 1700000000 +0000'
const commit = (header: string, message = 'm\n'): GitObject => ({
  type: 'commit',
  data: Buffer.from(`${header}\n${message}`, 'latin1'),
})
const plain = (parents: readonly string[], extra = '') =>
  commit(
    `tree ${TREE}\n${parents.map((id) => `parent ${id}\n`).join('')}author ${PERSON}\ncommitter ${PERSON}\n${extra}`,
  )

function nameOf(moves: readonly Move[], pack: Buffer, shallow: readonly string[] = []) {
  const body = pushBody(moves, pack, shallow)
  const named = nameRequest(
    boundOf('codehost'),
    {
      method: 'POST',
      target: '/acme/site.git/git-receive-pack',
      rawHeaders: ['Host', 'github.com', 'Content-Length', String(body.length)],
      httpVersion: '1.1',
      scheme: 'https',
      sources: {},
    },
    body.toString('latin1'),
  )
  if (named.kind !== 'actions') throw new Error(named.kind)
  const [action] = named.actions
  return { name: action?.type.replace('codehost.git.', ''), reason: action?.nameReason, action }
}

/** Text that compresses to a half at best, the same in every run. */
function textOf(length: number): string {
  let text = ''
  for (let i = 0; text.length < length; i++) text += createHash('sha256').update(String(i)).digest('hex')
  return text.slice(0, length)
}

const push = (tip: GitObject, objects: readonly GitObject[] = [tip]) =>
  nameOf([{ before: OLD, after: idOf(tip), ref: 'refs/heads/main' }], packOf(objects))

describe('a push is a fast-forward only where git would read the same parents', () => {
  test('honest commits are', () => {
    expect(push(plain([OLD])).name).toBe('push')
    expect(push(plain(['2'.repeat(40), OLD])).name).toBe('push')
    const signed = 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n'
    expect(push(plain([OLD], signed)).name).toBe('push')
    const merged = `mergetag object ${'3'.repeat(40)}\n type commit\n tag v1\n tagger ${PERSON}\n \n text\n`
    expect(
      push(plain([OLD], `${merged}${merged}encoding ISO-8859-1\nHG:extra branch:x\n${signed}`)).name,
    ).toBe('push')
  })

  const id = `parent ${OLD}\n`
  const [author, committer] = [`author ${PERSON}\n`, `committer ${PERSON}\n`]
  const tree = `tree ${TREE}\n`
  test.each<[string, string]>([
    ['a parent behind the committer', `${tree}${author}${committer}${id}`],
    ['a parent between author and committer', `${tree}${author}${id}${committer}`],
    ['a parent before the tree', `${id}${tree}${author}${committer}`],
    ['a parent behind the encoding', `${tree}${author}${committer}encoding UTF-8\n${id}`],
    ['a parent behind a signature', `${tree}${author}${committer}gpgsig -----\n abc\n${id}`],
    ['a parent in a continuation line of a merge tag', `${tree}${author}${committer}mergetag object\n ${id}`],
    ['a parent behind an unknown header', `${tree}note x\n${id}${author}${committer}`],
    ['two trees', `${tree}${tree}${id}${author}${committer}`],
    ['no tree', `${id}${author}${committer}`],
    ['no author', `${tree}${id}${committer}`],
    ['no committer', `${tree}${id}${author}`],
    ['two authors', `${tree}${id}${author}${author}${committer}`],
    ['two committers', `${tree}${id}${author}${committer}${committer}`],
    ['an unknown header', `${tree}${id}${author}${committer}parents ${OLD}\n`],
    ['two encodings', `${tree}${id}${author}${committer}encoding a\nencoding b\n`],
    ['carriage returns', `${tree}${id}${author}${committer}`.replaceAll('\n', '\r\n')],
    ['one carriage return', `${tree}parent ${OLD}\r\n${author}${committer}`],
    ['an upper-case id', `${tree}parent ${'A'.repeat(40)}\n${author}${committer}`],
    ['an upper-case word', `${tree}Parent ${OLD}\n${author}${committer}`],
    ['a tab', `${tree}parent\t${OLD}\n${author}${committer}`],
    ['two blanks', `${tree}parent  ${OLD}\n${author}${committer}`],
    ['a blank behind the id', `${tree}parent ${OLD} \n${author}${committer}`],
    ['a leading blank', `${tree} parent ${OLD}\n${author}${committer}`],
    ['a long id', `${tree}parent ${OLD}1\n${author}${committer}`],
    ['a SHA-256 id', `${tree}parent ${'1'.repeat(64)}\n${author}${committer}`],
    ['a short id', `${tree}parent ${OLD.slice(1)}\n${author}${committer}`],
    ['a NUL in the header', `${tree}${id}author A\0B <a@b> 1 +0000\n${committer}`],
    ['a NUL for a line end', `${tree}parent ${OLD}\0${author}${committer}`],
    ['a parent in the message', `${tree}${author}${committer}\n${id}`],
    ['an empty line before the parent', `${tree}\n${id}${author}${committer}`],
    ['a continuation as the first extra header', `${tree}${id}${author}${committer} ${id}`],
    ['another parent', `${tree}parent ${'2'.repeat(40)}\n${author}${committer}`],
  ])('%s is a force push', (_what, header) => {
    const { name, reason } = push(commit(header))
    expect(name).toBe('force_push')
    expect(reason).toMatch(
      /^The push counts as forced, because the gateway could not verify that it is a fast-forward: .+\.$/,
    )
  })

  test('a header without end is a force push', () => {
    const tip: GitObject = { type: 'commit', data: Buffer.from(`${tree}${id}${author}${committer}`) }
    expect(push(tip).name).toBe('force_push')
  })

  test('other objects with the text of a commit are none', () => {
    const text = plain([OLD]).data
    for (const type of ['tag', 'blob', 'tree'] as const) {
      const tip: GitObject = { type, data: text }
      expect(push(tip).name).toBe('force_push')
    }
    const tagOf = (object: string, type: string): GitObject => ({
      type: 'tag',
      data: Buffer.from(`object ${object}\ntype ${type}\ntag v1\ntagger ${PERSON}\n\n${id}`),
    })
    const inner = plain([OLD])
    const tag = tagOf(idOf(inner), 'commit')
    const outer = tagOf(idOf(tag), 'tag')
    expect(push(tag, [inner, tag]).name).toBe('force_push')
    expect(push(outer, [inner, tag, outer]).name).toBe('force_push')
    // git writes tags among the commits.
    expect(push(inner, [tag, outer, inner]).name).toBe('push')
  })

  test('an id that the pack only claims is none', () => {
    const tip = plain(['2'.repeat(40)])
    const other = plain([OLD])
    expect(push(tip, [other]).name).toBe('force_push')
    const move = { before: OLD, after: '5'.repeat(40), ref: 'refs/heads/main' }
    expect(nameOf([move], packOf([other])).name).toBe('force_push')
  })

  test('a cycle ends', () => {
    const tip = plain(['6'.repeat(40)])
    expect(push(tip).name).toBe('force_push')
  })

  test('a commit at which the history is cut proves nothing about its ancestors', () => {
    const tip = plain([OLD])
    const move = { before: OLD, after: idOf(tip), ref: 'refs/heads/main' }
    expect(nameOf([move], packOf([tip]), [idOf(tip)]).name).toBe('force_push')
    // A clone of one commit: the cut is where the push begins.
    expect(nameOf([move], packOf([tip]), [OLD]).name).toBe('push')
  })

  test('an existing tag is never moved by a fast-forward, as git has it', () => {
    const tip = plain([OLD])
    const move = { before: OLD, after: idOf(tip), ref: 'refs/tags/v1' }
    expect(nameOf([move], packOf([tip]))).toMatchObject({
      name: 'force_push',
      reason: 'The push moves an existing tag.',
    })
  })

  test('the card and the record tell old and new of a reference', () => {
    const tip = plain([OLD])
    expect(push(tip).action?.parameters).toMatchObject({
      ref: 'refs/heads/main',
      before: OLD,
      sha: idOf(tip),
    })
  })
})

describe('deltas', () => {
  const base = plain([OLD])
  const tip = plain([idOf(base)])
  const delta = insertingDelta(base.data.length, tip.data)
  const move = { before: OLD, after: idOf(tip), ref: 'refs/heads/main' }
  const name = (entries: Parameters<typeof packOf>[0]) => nameOf([move], packOf(entries))

  test('on a commit of the pack are read, by id and by offset', () => {
    expect(name([base, { base: idOf(base), delta }]).name).toBe('push')
    const back = packOf([base]).length - 12 - 20
    expect(name([base, { base: { back }, delta }]).name).toBe('push')
  })

  test.each<[string, Parameters<typeof packOf>[0]]>([
    ['an absent base', [{ base: '7'.repeat(40), delta }, base]],
    ['a base that comes later', [{ base: idOf(base), delta }, base]],
    ['an offset before the pack', [base, { base: { back: 1_000_000 }, delta }]],
    ['an offset into an object', [base, { base: { back: 3 }, delta }]],
    ['itself', [base, { base: { back: 0 }, delta }]],
    ['another length', [base, { base: idOf(base), delta: insertingDelta(base.data.length + 1, tip.data) }]],
    ['cut instructions', [base, { base: idOf(base), delta: delta.subarray(0, -5) }]],
    ['a reserved instruction', [base, { base: idOf(base), delta: Buffer.concat([delta, Buffer.from([0])]) }]],
    [
      'a copy beyond its base',
      [base, { base: idOf(base), delta: Buffer.from([...delta.subarray(0, 4), 0x91, 250, 250]) }],
    ],
  ])('on %s prove nothing', (_what, entries) => {
    expect(name(entries).name).toBe('force_push')
  })
})

describe('the budget', () => {
  /** `count` commits, oldest first. */
  function chain(count: number, message = 'm\n'): GitObject[] {
    const commits: GitObject[] = []
    for (let i = 0; i < count; i++) {
      const last = commits.at(-1)
      const parent = last === undefined ? OLD : idOf(last)
      commits.push(commit(plain([parent]).data.toString('latin1').slice(0, -3), `${i} ${message}`))
    }
    return commits
  }
  const name = (commits: readonly GitObject[]) => {
    const tip = commits.at(-1)
    if (tip === undefined) throw new Error('no commits')
    return push(tip, [...commits].reverse())
  }

  test('holds for 2,000 commits, and the reason says when there are more', () => {
    expect(name(chain(2_000)).name).toBe('push')
    expect(name(chain(2_001))).toMatchObject({
      name: 'force_push',
      reason: expect.stringContaining('the commits of the push exceed the limit of the gateway'),
    })
  })

  test('holds for 64 KiB a commit and 4 MiB in all', () => {
    expect(name(chain(1, textOf(64 * 1024))).reason).toContain('exceed the limit of the gateway')
    expect(name(chain(10, textOf(60 * 1024))).name).toBe('push')
    expect(name(chain(80, textOf(60 * 1024))).reason).toContain('exceed the limit of the gateway')
  })

  test('holds for 64 inflated bytes a byte of the pack, beyond the first 64 KiB', () => {
    expect(name(chain(2, 'x'.repeat(30 * 1024))).name).toBe('push')
    expect(name(chain(60, 'x'.repeat(60 * 1024))).reason).toContain('exceed the limit of the gateway')
  })

  test('a stream that holds more than its entry says is not inflated', () => {
    const tip = plain([OLD])
    const bomb = packOf([{ type: 'commit', data: Buffer.alloc(16 * 1024 * 1024) }])
    // The length of the entry, 100 instead of 16 MiB.
    const lying = Buffer.concat([bomb.subarray(0, 12), Buffer.from([0x94, 0x06]), bomb.subarray(17)])
    const move = { before: OLD, after: idOf(tip), ref: 'refs/heads/main' }
    expect(nameOf([move], lying).name).toBe('force_push')
  })

  test('blobs are never inflated', () => {
    const tip = plain([OLD])
    expect(push(tip, [tip, { type: 'blob', data: Buffer.alloc(8 * 1024 * 1024) }]).name).toBe('push')
  })
})
