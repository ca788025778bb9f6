import { describe, expect, test } from 'vitest'
import { checkManifest } from '../../../controlplane/cli/manifests/manifest-files.ts'
import { PushBody } from '../../../core/wire/operator/operator.ts'
import { EMPTY_SET, folderItems, nextSet } from '../../../operator/folder/manifest-set.ts'
import { parseManifests } from '../../../operator/folder/manifests.ts'
import fc from '../../support/fast-check.ts'

const HEAD = 'apiVersion: chaperone.dev/v1alpha1\n'
const gateway = (name: string) => `${HEAD}kind: Gateway\nmetadata:\n  name: ${name}\nspec: {}\n`

/** Each of three names is thirty levels around the one before. */
const AROUND = (inner: string) => `${'['.repeat(30)}${inner}${']'.repeat(30)}`
const BY_NAMES = `a: &a ${AROUND('1')}\nb: &b ${AROUND('*a')}\nc: ${AROUND('*b')}\n`

describe('a manifest', () => {
  test.each([
    [
      'an unknown field',
      `${gateway('a').replace('spec: {}', 'spec:\n  enforcementLevels: monitor')}`,
      6,
      /unknown field spec\.enforcementLevels/,
    ],
    [
      'a bad value',
      `${gateway('a').replace('spec: {}', 'spec:\n  rateLimit:\n    requestsPerMinute: 0')}`,
      7,
      /^spec\.rateLimit\.requestsPerMinute: /,
    ],
    [
      'a bad value in a list',
      `${HEAD}kind: Permission\nmetadata: { name: p }\nspec:\n  gatewayRefs: [{ name: g }]\n  rules:\n    - connectorType: codehost\n      actionPattern: "a.*.b"\n      decision: allow\n`,
      8,
      /^spec\.rules\[0\]\.actionPattern: /,
    ],
    [
      'a missing field',
      `${HEAD}kind: Permission\nmetadata:\n  name: p\nspec:\n  gatewayRefs: [{ name: g }]\n`,
      5,
      /^spec\.rules: is required/,
    ],
    [
      'an unknown kind',
      `${HEAD}kind: Gatewayy\nmetadata:\n  name: a\n`,
      2,
      /unknown kind "Gatewayy"; did you mean Gateway\?/,
    ],
    [
      'a wrong apiVersion',
      'kind: Gateway\napiVersion: v2\nmetadata: { name: a }\n',
      2,
      /a Gateway has apiVersion: chaperone/,
    ],
    ['a key that is there twice', `${gateway('a')}spec: {}\n`, 6, /not valid YAML: /],
    ['broken YAML', `${HEAD}kind: Gateway\nmetadata: {name: a\nspec: {}\n`, 4, /not valid YAML: /],
    ['a list', '- a\n- b\n', 1, /a manifest must be a mapping/],
    ['the second document', `${gateway('a')}---\n${gateway('b')}extra: 1\n`, 12, /unknown field extra/],
  ])('with %s is reported with its line', (_what, text, line, message) => {
    const { problems } = parseManifests('x.yaml', text)
    expect(problems[0]).toMatchObject({ file: 'x.yaml', line, message: expect.stringMatching(message) })
  })

  test('may hold several documents, comments and empty ones', () => {
    const { objects, problems } = parseManifests(
      'x.yaml',
      `# only a comment\n---\n${gateway('a')}---\n\n---\n${gateway('b')}`,
    )
    expect(problems).toEqual([])
    expect(objects.map(({ key, line }) => `${key} ${line}`)).toEqual([
      'Gateway/default/a 3',
      'Gateway/default/b 11',
    ])
  })

  test.each([
    [
      'Gateway',
      'spec: { egress: { unmatchedHost: deny } }',
      'spec.egress.unmatchedHost; did you mean unmatchedHosts?',
    ],
    ['Connector', 'spec: { type: codehost, credentials: {} }', 'spec.credentials; did you mean credential?'],
    [
      'Policy',
      'spec: { scope: { action: [x] }, rules: [{ name: a, conditions: [], decision: deny }] }',
      'spec.scope.action; did you mean actions?',
    ],
    [
      'Gateway',
      'spec: { rateLimit: { quux: 1 } }',
      'spec.rateLimit.quux; remove it, or use one of requestsPerMinute',
    ],
  ])('with a misspelt field of a %s gets a suggestion: %s', (kind, spec, message) => {
    const { problems } = parseManifests('x.yaml', `${HEAD}kind: ${kind}\nmetadata: { name: x }\n${spec}\n`)
    expect(problems).toEqual([{ file: 'x.yaml', line: 4, message: `unknown field ${message}` }])
  })

  test('with former spellings names the present ones, each with its line', () => {
    const text = `${HEAD}kind: Policy\nmetadata: { name: x }\nspec:\n  enabled: false\n  rules:\n    - name: a\n      decision: deny\n      approver_groups: [b]\n`
    const { problems } = parseManifests('x.yaml', text)
    expect(problems.map(({ line, message }) => `${line} ${message}`).toSorted()).toEqual([
      '5 unknown field spec.enabled; use mode: disabled instead of enabled: false, or run chaperone migrate',
      '9 unknown field spec.rules[0].approver_groups; use approverGroups, or run chaperone migrate',
    ])
  })

  test.each([
    ['stringdata', 'did you mean stringData?'],
    ['data', 'remove it, or use one of apiVersion, kind, metadata, stringData, type, immutable'],
  ])('that is a Secret with unused values (%s) is refused', (field, advice) => {
    const text = `apiVersion: v1\nkind: Secret\nmetadata: { name: x }\n${field}: { token: eA== }\n`
    expect(parseManifests('x.yaml', text).problems).toEqual([
      { file: 'x.yaml', line: 4, message: `unknown field ${field}; ${advice}` },
    ])
  })

  test('with an alias bomb is refused', () => {
    const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]\n`
    expect(parseManifests('x.yaml', bomb).problems).toHaveLength(1)
  })

  test.each([
    ['nested without end', `${gateway('x')}---\n${'['.repeat(100_000)}`, /nested too deeply/],
    ['nested by its names', BY_NAMES, /nested too deeply/],
    [
      'with half a character',
      `${HEAD}kind: Gateway\nmetadata: { name: x }\nspec: { "a\\ud800": 1 }\n`,
      /Unicode/,
    ],
  ])('that is %s is refused with its line, and its whole file is not applied', (_how, text, message) => {
    const { objects, problems } = parseManifests('x.yaml', text)
    expect(objects).toEqual([])
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatchObject({ file: 'x.yaml', message: expect.stringMatching(message) })
    expect(checkManifest({ path: 'x.yaml', text })).toEqual({
      resources: [],
      problems: [expect.stringMatching(message)],
    })
  })

  test('with any content gives objects or problems and never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        const { objects, problems } = parseManifests('x.yaml', `${HEAD}kind: Gateway\n${text}`)
        for (const { line } of problems) expect(line).toBeGreaterThan(0)
        expect(objects.length + problems.length).toBeGreaterThan(0)
      }),
    )
  })
})

describe('the folder', () => {
  const files = (texts: Record<string, string>) =>
    Object.entries(texts).map(([file, text]) => ({ file, text }))
  const keys = (set: typeof EMPTY_SET) =>
    folderItems(set).map(({ object, body }) => `${object.key} ${body.managed_by}`)

  test('a field with a very long path is applied without its line', () => {
    const key = 'k'.repeat(2_000)
    const text = `${HEAD}kind: Gateway\nmetadata:\n  name: a\n  annotations:\n    ? ${key}\n    : v\n    short: v\nspec: {}\n`
    const [item] = folderItems(nextSet(EMPTY_SET, files({ 'a.yaml': text })))
    const body = PushBody.parse(JSON.parse(JSON.stringify(item?.body)))
    expect(body.lines).toMatchObject({ 'metadata.annotations': 5, 'metadata.annotations.short': 8 })
  })

  test('an object that two files declare belongs to the first, and the problem of the second names both places', () => {
    const set = nextSet(EMPTY_SET, files({ 'b.yaml': gateway('x'), 'a.yaml': gateway('x') }))
    expect(set.problems).toEqual([
      {
        file: 'b.yaml',
        line: 1,
        message: 'Gateway/default/x is already declared in a.yaml, line 1; remove one of the two',
      },
    ])
    expect(keys(set)).toEqual(['Gateway/default/x a.yaml'])
  })

  test('a broken or unreadable file keeps its objects, a deleted file does not', () => {
    const good = nextSet(
      EMPTY_SET,
      files({ 'a.yaml': gateway('a'), 'b.yaml': gateway('b'), 'c.yaml': gateway('c') }),
    )
    const next = nextSet(good, [
      { file: 'a.yaml', text: 'kind: [' },
      { file: 'c.yaml', text: null, failure: 'EACCES' },
    ])
    expect(keys(next)).toEqual(['Gateway/default/a a.yaml', 'Gateway/default/c c.yaml'])
    expect(next.problems.map(({ file }) => file)).toEqual(['a.yaml', 'c.yaml'])
    expect(keys(nextSet(next, files({ 'a.yaml': gateway('z') })))).toEqual(['Gateway/default/z a.yaml'])
  })

  test('gateways are pushed before objects that refer to them, and an unchanged file gives the same bytes', () => {
    const text = `${HEAD}kind: Connector\nmetadata: { name: aaa }\nspec: { type: codehost }\n---\n${gateway('zzz')}`
    const set = nextSet(EMPTY_SET, files({ 'a.yaml': text }))
    expect(keys(set)).toEqual(['Gateway/default/zzz a.yaml', 'Connector/default/aaa a.yaml'])
    const bytes = (of: typeof set) => folderItems(of).map(({ body }) => JSON.stringify(body))
    expect(bytes(nextSet(EMPTY_SET, files({ 'a.yaml': text })))).toEqual(bytes(set))
  })
})
