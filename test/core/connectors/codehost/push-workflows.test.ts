import { describe, expect, test } from 'vitest'
import { classify } from '../../../../core/connectors/classify.ts'
import type { PackDepth } from '../../../../core/connectors/codehost/push/pack.ts'
import { effectsOf } from '../../../../core/connectors/effects/effects.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { canonicalise } from '../../../../core/request/canonicalise.ts'
import { runSliced } from '../../../../core/sliced.ts'
import { inflate, objectId } from '../../../../sidecar/pipeline/body/git-objects.ts'
import {
  type GitDelta,
  type GitObject,
  idOf,
  insertingDelta,
  type Move,
  packOf,
  pushBody,
} from '../../../support/git-pack.ts'
import { boundOf } from '../golden.ts'

const [NOTHING, OLD] = ['0'.repeat(40), '1'.repeat(40)]
const BLOB: GitObject = { type: 'blob', data: Buffer.from('hello') }
const OTHERS = '9'.repeat(40)

/** A tree; an entry with a text instead of an object names an object that the server may have. */
function tree(entries: Readonly<Record<string, GitObject | string>>): GitObject {
  const pieces = Object.entries(entries).flatMap(([name, of]) => {
    const mode = typeof of === 'string' || of.type === 'tree' ? '40000' : '100644'
    const id = typeof of === 'string' ? of : idOf(of)
    return [Buffer.from(`${mode} ${name}\0`, 'latin1'), Buffer.from(id, 'hex')]
  })
  return { type: 'tree', data: Buffer.concat(pieces) }
}

function commit(root: GitObject | string, parents: readonly string[] = [OLD]): GitObject {
  const id = typeof root === 'string' ? root : idOf(root)
  const header = `tree ${id}\n${parents.map((one) => `parent ${one}\n`).join('')}`
  return { type: 'commit', data: Buffer.from(`${header}author a\ncommitter b\n\nm`, 'latin1') }
}

function pushed(moves: readonly Move[], pack: Buffer, depth: PackDepth = 'trees') {
  const body = pushBody(moves, pack)
  const request = canonicalise({
    method: 'POST',
    target: '/acme/site.git/git-receive-pack',
    rawHeaders: ['Host', 'github.com', 'Content-Length', String(body.length)],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  })
  if (isRefusal(request)) throw new Error(request.detail)
  const bound = boundOf('codehost')
  const reader = bound.connector.readsHead?.(request, bound.config)
  if (!reader) throw new Error('the push is not read')
  expect(reader.scan(depth)(body)).toBe(
    moves.some(({ after }) => after !== NOTHING) ? Number.POSITIVE_INFINITY : 0,
  )
  const commits = runSliced(reader.read(body, { inflate, objectId }, depth))
  const named = classify(bound, request, { kind: 'head', bytes: body, commits })
  if (named.kind !== 'actions') throw new Error(named.kind)
  return named.actions
}

/** Pushes the objects; the first one moves main. */
function effectsOfPush(objects: ReadonlyArray<GitObject | GitDelta>, tip: GitObject) {
  const moves = [{ before: OLD, after: idOf(tip), ref: 'refs/heads/main' }]
  const [action] = pushed(moves, packOf(objects))
  return action === undefined ? null : { effects: effectsOf(action), reason: action.nameReason }
}

describe('a push whose pack is read for its trees', () => {
  const workflows = tree({ 'ci.yml': BLOB })
  const safe = tree({ 'README.md': BLOB, src: tree({ 'a.ts': BLOB }) })

  test('has no class where no commit has a folder of workflows', () => {
    const tip = commit(safe)
    expect(effectsOfPush([tip, safe, BLOB], tip)).toEqual({ effects: [], reason: undefined })
    const other = tree({ '.github': tree({ CODEOWNERS: BLOB }), docs: OTHERS })
    const second = commit(other)
    const inner = tree({ CODEOWNERS: BLOB })
    expect(effectsOfPush([second, other, inner, BLOB], second)?.effects).toEqual([])
  })

  test.each<[string, string, string]>([
    ['a workflow', '.github', 'workflows'],
    ['an action', '.github', 'actions'],
    ['a workflow of another code host', '.forgejo', 'workflows'],
    ['one in other letters', '.GitHub', 'Workflows'],
  ])('runs code where it brings %s', (_what, outer, inner) => {
    const folder = tree({ [inner]: workflows })
    const root = tree({ [outer]: folder, src: OTHERS })
    const tip = commit(root)
    const { effects, reason } = effectsOfPush([tip, root, folder, workflows, BLOB], tip) ?? {}
    expect(effects).toEqual(['code_execution'])
    expect(reason).toBe(
      `The push may change workflows: commit ${idOf(tip).slice(0, 12)} has the folder ${outer}/${inner}.`,
    )
  })

  test('counts as one that may where the pack does not show it', () => {
    const swapped = tree({ '.github': OTHERS })
    const tip = commit(swapped)
    expect(effectsOfPush([tip, swapped, BLOB], tip)?.reason).toContain('which is not complete in the push')
    const known = commit(OTHERS)
    expect(effectsOfPush([known], known)?.reason).toContain('has a tree that is not complete in the push')
    const broken: GitObject = { type: 'tree', data: Buffer.from('100644 a\0short') }
    const odd = commit(broken)
    expect(effectsOfPush([odd, broken], odd)?.effects).toEqual(['code_execution'])
  })

  test('counts as one that may where a tree is a difference to an object of the server', () => {
    const root = tree({ '.github': tree({ workflows }) })
    const tip = commit(root)
    const delta = { base: OTHERS, delta: insertingDelta(30, root.data) }
    expect(effectsOfPush([tip, delta, BLOB], tip)?.effects).toEqual(['code_execution'])
    // The tip itself may be such a difference.
    const hidden = { base: OTHERS, delta: insertingDelta(30, tip.data) }
    expect(effectsOfPush([hidden, safe, BLOB], tip)?.reason).toContain('did not read')
  })

  test('reads differences to trees of the pack', () => {
    const first = commit(safe)
    const more = tree({ 'README.md': BLOB, '.github': tree({ workflows }) })
    const second = commit(more, [idOf(first)])
    const delta = { base: idOf(safe), delta: insertingDelta(safe.data.length, more.data) }
    const inner = tree({ workflows })
    const objects = [second, first, safe, delta, inner, workflows, BLOB]
    expect(effectsOfPush(objects, second)?.reason).toContain('has the folder .github/workflows')
  })

  test('is not fooled by what stands behind the first file', () => {
    const root = tree({ '.github': tree({ workflows }) })
    const tip = commit(root)
    expect(effectsOfPush([BLOB, tip, root, workflows], tip)?.reason).toContain('did not read')
    expect(effectsOfPush([tip, BLOB, root, workflows], tip)?.effects).toEqual(['code_execution'])
    // A commit behind a tree is read, and proves no fast-forward.
    const [action] = pushed(
      [{ before: OLD, after: idOf(tip), ref: 'refs/heads/main' }],
      packOf([safe, tip, root, BLOB]),
    )
    expect(action?.type).toBe('codehost.git.force_push')
    expect(action?.effects).toEqual(['code_execution'])
  })

  test('judges every commit, and every reference that gets one', () => {
    const bad = tree({ '.github': tree({ workflows }) })
    const first = commit(bad)
    const second = commit(safe, [idOf(first)])
    expect(
      effectsOfPush([second, first, safe, bad, tree({ workflows }), workflows, BLOB], second)?.effects,
    ).toEqual(['code_execution'])
    const actions = pushed(
      [
        { before: NOTHING, after: idOf(first), ref: 'refs/heads/new' },
        { before: OLD, after: NOTHING, ref: 'refs/heads/gone' },
      ],
      packOf([first, bad, tree({ workflows }), workflows, BLOB]),
    )
    expect(actions.map((action) => [action.type, effectsOf(action)])).toEqual([
      ['codehost.branch.create', ['code_execution']],
      ['codehost.branch.delete', ['delete']],
    ])
  })

  test('may run code where it brings nothing: a branch or a tag of a commit that the server has', () => {
    const moves = [{ before: NOTHING, after: OLD, ref: 'refs/heads/new' }]
    const [branch] = pushed(moves, packOf([]))
    expect([branch?.effects, branch?.possibleEffects]).toEqual([undefined, ['code_execution']])
    // Objects that do not belong to the commit exclude nothing.
    const unrelated = commit(safe)
    const [other] = pushed(moves, packOf([unrelated, safe]))
    expect([other?.effects, other?.possibleEffects]).toEqual([undefined, ['code_execution']])
    const tag: GitObject = { type: 'tag', data: Buffer.from(`object ${OLD}\ntype commit\ntag v1\n\nm`) }
    const tagged = pushed([{ before: NOTHING, after: idOf(tag), ref: 'refs/tags/v1' }], packOf([tag]))
    expect(tagged.map(effectsOf)).toEqual([['code_execution'], ['publish']])
    expect(tagged[0]?.effects).toBeUndefined()
  })

  test('counts as a possible change of workflows beyond the budget, and where the pack is truncated', () => {
    const many = Array.from({ length: 2_100 }, (_, n) => tree({ [`f${n}`]: BLOB }))
    const root = tree({ a: OTHERS })
    const tip = commit(root)
    expect(effectsOfPush([tip, ...many, root], tip)?.effects).toEqual(['code_execution'])
    const whole = packOf([tip, root])
    const moves = [{ before: OLD, after: idOf(tip), ref: 'refs/heads/main' }]
    expect(pushed(moves, whole).map(effectsOf)).toEqual([[]])
    expect(pushed(moves, whole.subarray(0, whole.length - 40)).map(effectsOf)).toEqual([['code_execution']])
  })
})

test('a push that is read for its commits alone has the same name and no class', () => {
  const root = tree({ '.github': tree({ workflows: OTHERS }) })
  const tip = commit(root)
  const moves = [{ before: OLD, after: idOf(tip), ref: 'refs/heads/main' }]
  const pack = packOf([tip, root, BLOB])
  const [plain] = pushed(moves, pack, 'commits')
  const [deep] = pushed(moves, pack, 'trees')
  expect([plain?.type, deep?.type]).toEqual(['codehost.git.push', 'codehost.git.push'])
  expect([plain?.effects, deep?.effects]).toEqual([undefined, ['code_execution']])
})
