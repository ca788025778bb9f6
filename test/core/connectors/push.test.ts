import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isNothing, readPushHead } from '../../../core/connectors/codehost/push/commands.ts'
import { isFastForward, readCommits } from '../../../core/connectors/codehost/push/pack.ts'
import fc from '../../support/fast-check.ts'

const NOTHING = '0'.repeat(40)
const [A, B] = ['a'.repeat(40), 'b'.repeat(40)]
const line = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text
const bytes = (...parts: string[]) => Buffer.from(parts.join(''), 'latin1')
const first = (command: string, capabilities = 'report-status side-band-64k') =>
  line(`${command}\0${capabilities}`)

describe('the head of a push', () => {
  test('names every reference with what stood there and what shall stand there', () => {
    const head = readPushHead(
      bytes(
        first(`${NOTHING} ${A} refs/heads/new`),
        line(`${A} ${NOTHING} refs/heads/old\n`),
        line(`${A} ${B} refs/tags/v1`),
        '0000PACK',
      ),
    )
    if (head.kind !== 'commands') throw new Error(head.kind)
    expect(head.commands).toEqual([
      { before: NOTHING, after: A, ref: 'refs/heads/new' },
      { before: A, after: NOTHING, ref: 'refs/heads/old' },
      { before: A, after: B, ref: 'refs/tags/v1' },
    ])
    expect(head.commands.map(({ after }) => isNothing(after))).toEqual([false, true, false])
  })

  test('ends behind push options, and shallow lines are none', () => {
    const body = bytes(
      line(`shallow ${A}`),
      first(`${A} ${B} refs/heads/x`, ' push-options atomic'),
      '0000',
      line('ci.skip'),
      '0000',
      'PACK',
    )
    expect(readPushHead(body)).toMatchObject({ kind: 'commands', packAt: body.length - 4 })
  })

  test('of an empty push, which only asks whether one may, names none', () => {
    expect(readPushHead(bytes('0000'))).toEqual({ kind: 'commands', commands: [], packAt: 4 })
  })

  test('however it is cut, asks for more and never takes a part for the whole', () => {
    const whole = bytes(first(`${A} ${B} refs/heads/x`), line(`${A} ${NOTHING} refs/heads/main`), '0000')
    fc.assert(
      fc.property(fc.nat(whole.length - 1), (cut) => {
        expect(readPushHead(whole.subarray(0, cut)).kind).toBe('more')
      }),
      { seed: 3 },
    )
    expect(readPushHead(whole).kind).toBe('commands')
  })

  test.each([
    ['a length that is none', 'zzzz'],
    ['a delimiter that servers of this revision do not know', '0001'],
    ['a line that is no command', `${line('hello')}0000`],
    ['a signed push', `${line('push-cert\0 atomic')}${line('certificate version 0.1')}0000`],
    ['half an id', `${first(`${A.slice(1)} ${B} refs/heads/x`)}0000`],
    ['a reference with a blank', `${first(`${A} ${B} refs/heads/x y`)}0000`],
    ['bytes that are no UTF-8', `${first(`${A} ${B} refs/heads/\xff`)}0000`],
  ])('is refused: %s', (_what, text) => {
    expect(readPushHead(bytes(text)).kind).toBe('malformed')
  })
})

describe('a pack that git made', () => {
  let folder: string
  const git = (args: readonly string[], input?: string) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@test', ...args], {
      cwd: folder,
      ...(input === undefined ? {} : { input }),
      env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    })
  const commit = (text: string) => {
    writeFileSync(join(folder, 'f'), text.repeat(500))
    git(['add', 'f'])
    git(['commit', '-qm', text])
    return git(['rev-parse', 'HEAD']).toString().trim()
  }
  const ids: string[] = []
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'chaperone-push-'))
    git(['init', '-q', '-b', 'main'])
    ids.push(commit('one'), commit('two'), commit('three'))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const commitsOf = (after: string, before: string) =>
    readCommits(
      git(['pack-objects', '--revs', '--stdout', '--thin', '-q'], `${after}\n^${before}\n`),
      (from) => {
        try {
          const { buffer, engine } = inflateSync(from, { info: true }) as unknown as {
            buffer: Buffer
            engine: { bytesWritten: number }
          }
          return { data: buffer, consumed: engine.bytesWritten }
        } catch {
          return null
        }
      },
      (type, data) => createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex'),
    )

  test('holds the way from the new commit back to the old one when nothing is lost', () => {
    const [one = '', two = '', three = ''] = ids
    const commits = commitsOf(three, one)
    expect([...commits.keys()].sort()).toEqual([two, three].sort())
    expect(isFastForward(one, three, commits)).toBe(true)
  })

  test('does not lead back when history was rewritten', () => {
    const [one = '', , three = ''] = ids
    git(['reset', '-q', '--hard', one])
    const rewritten = commit('other')
    const commits = commitsOf(rewritten, three)
    expect(commits.has(rewritten)).toBe(true)
    expect(isFastForward(three, rewritten, commits)).toBe(false)
  })

  test('proves nothing when it is cut, or is none', () => {
    expect(
      readCommits(
        Buffer.from('PACK'),
        () => null,
        () => '',
      ).size,
    ).toBe(0)
    expect(isFastForward(A, B, new Map([[B, [B]]]))).toBe(false)
  })
})
