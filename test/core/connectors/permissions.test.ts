import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Action } from '../../../core/action/action.ts'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import { neededActions, permissionNeed, permissionsOf } from '../../../core/connectors/codehost/token-need.ts'
import { bindConnector } from '../../../core/connectors/registry.ts'
import { entryOf, nameRequest } from './golden.ts'

const rows = createCatalogue().rows('codehost')
const shapeOf = (template: string) => template.replaceAll(/\{[^}]*\}/g, '{}')

/** Permissions by operation, as the code host publishes them. */
const published = new Map(
  readFileSync(new URL('../../golden/published/codehost-permissions.tsv', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line): readonly [string, string] => {
      const [method = '', template = '', permissions = ''] = line.split('\t')
      return [`${method} ${shapeOf(template)}`, permissions]
    }),
)

/** Permissions that differ from the published ones, or that are not published, each with its reason. */
const OWN: ReadonlyMap<string, string> = new Map([
  // The merge closes the pull request.
  ['PUT /repos/{}/{}/pulls/{}/merge', 'contents:write,pull_requests:write'],
  // The same operation, answered before it is done.
  ['PUT /repos/{}/{}/pulls/{}/merge-async', 'contents:write,pull_requests:write'],
  // Further addresses of operations that are published with a path or a reference.
  ['GET /repos/{}/{}/contents', 'contents:read'],
  ['GET /repos/{}/{}/contents/', 'contents:read'],
  ['GET /repos/{}/{}/tarball', 'contents:read'],
  ['GET /repos/{}/{}/zipball', 'contents:read'],
  // Served by another host, so the list does not have it; as the release itself.
  ['POST /repos/{}/{}/releases/{}/assets', 'contents:write'],
  // git over HTTP.
  ['POST /{}/{}/git-receive-pack', 'contents:write,workflows:write'],
  ['POST /{}/{}/git-upload-pack', 'contents:read'],
])
/** Operations whose token must also reach a repository that they create. */
const WHOLE: ReadonlySet<string> = new Set(['POST /repos/{}/{}/forks', 'POST /repos/{}/{}/generate'])

/** Names of permissions that the API accepts in a request for a token. */
const schema =
  /^ {4}"app-permissions": \{$.*?^ {4}\};$/ms.exec(
    readFileSync('node_modules/@octokit/openapi-types/types.d.ts', 'utf8'),
  )?.[0] ?? ''
const accepted = new Set([...schema.matchAll(/^ {6}([a-z_]+)\?: /gm)].map(([, name = '']) => name))

describe('the permissions of catalogue rows', () => {
  const operations = rows.flatMap(({ method, template, permissions }) =>
    method === undefined || template === undefined
      ? []
      : [{ key: `${method} ${shapeOf(template)}`, permissions: permissions?.join(',') }],
  )

  test('are those that the code host publishes', () => {
    expect(published.size).toBe(878)
    const differing = operations.filter(
      ({ key, permissions }) =>
        permissions !== undefined &&
        key !== 'GET /{}/{}/info/refs' &&
        permissions !== (OWN.get(key) ?? published.get(key)),
    )
    expect(differing).toEqual([])
    expect(operations.filter(({ permissions }) => permissions !== undefined)).toHaveLength(720)
  })

  test('are left out only where a token cannot be requested with them', () => {
    const missing = operations.filter(({ key, permissions }) => {
      const names = (published.get(key) ?? '').split(',').map((one) => one.split(':')[0] ?? '')
      return permissions === undefined && names.every((name) => accepted.has(name)) && !WHOLE.has(key)
    })
    expect(missing).toEqual([])
  })

  test('have names that the API accepts', () => {
    const names = rows.flatMap(({ permissions = [] }) => permissions.map((one) => one.split(':')[0] ?? ''))
    expect(names.filter((name) => !accepted.has(name))).toEqual([])
  })
})

const bound = bindConnector(entryOf('codehost'))

function needOf(method: string, target: string, { body = '', host = 'api.github.com' } = {}) {
  const type = body === '' ? [] : ['Content-Type', 'application/json']
  const raw = {
    method,
    target,
    rawHeaders: ['Host', host, ...type],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  } as const
  const named = nameRequest(bound, raw, body)
  const actions: readonly Action[] =
    named.kind === 'actions' ? named.actions : named.kind === 'candidates' ? named.candidates : []
  const segments = (target.split('?')[0] ?? '').split('/').slice(1)
  return permissionNeed(neededActions(actions, { segments }), false)
}

const SITE = ['acme/site']

test.each([
  ['PUT', '/repos/acme/site/pulls/7/merge', '', SITE, 'contents:write,pull_requests:write'],
  ['GET', '/repos/Acme/Site/pulls/7', '', SITE, 'contents:read,pull_requests:read'],
  ['POST', '/repos/acme/site/issues/7/comments', '{"body":"x"}', SITE, 'issues:write,pull_requests:write'],
  ['PUT', '/repos/acme/site/contents/README.md', '{"content":""}', SITE, 'contents:write'],
  [
    'PUT',
    '/repos/acme/site/contents/.github/workflows/ci.yml',
    '{"content":""}',
    SITE,
    'contents:write,workflows:write',
  ],
  [
    'POST',
    '/repos/acme/site/git/refs',
    '{"ref":"refs/tags/v1","sha":"a"}',
    SITE,
    'contents:write,workflows:write',
  ],
  ['GET', '/orgs/acme/members', '', null, 'members:read'],
])(
  '%s %s needs its permissions on its repository only',
  (method, target, body, repositories, permissions) => {
    expect(needOf(method, target, { body })).toEqual({
      ...{ repositories, permissions: permissions.split(','), readsMore: false },
    })
  },
)

test('git needs contents, and no workflows unless a push may change them', () => {
  const host = 'github.com'
  const fetches = { repositories: SITE, permissions: ['contents:read'], readsMore: false }
  expect(needOf('GET', '/acme/site.git/info/refs?service=git-upload-pack', { host })).toEqual(fetches)
  const pushes = { repositories: SITE, permissions: ['contents:write'], readsMore: false }
  expect(needOf('GET', '/acme/site.git/info/refs?service=git-receive-pack', { host })).toEqual(pushes)
})

test('a GraphQL operation with the name of a REST operation needs its permissions, any other is not narrowed', () => {
  const query = (text: string) => needOf('POST', '/graphql', { body: JSON.stringify({ query: text }) })
  expect(query('{ repository(owner: "acme", name: "site") { pullRequest(number: 7) { title } } }')).toEqual({
    ...{ repositories: SITE, permissions: ['contents:read', 'pull_requests:read'], readsMore: false },
  })
  // The id does not say which repository it is of.
  expect(
    query('mutation { mergePullRequest(input: { pullRequestId: "PR_1" }) { clientMutationId } }'),
  ).toEqual({
    ...{ repositories: null, permissions: ['contents:write', 'pull_requests:write'], readsMore: false },
  })
  expect(query('{ repository(owner: "acme", name: "site") { owner { login } } }')).toBe(
    'codehost.graphql.repository',
  )
})

test('an action of several operations has permissions only if each of them has', () => {
  expect(permissionsOf('codehost.reaction.create')).toBeNull()
  expect(permissionsOf('codehost.fork.create')).toBeNull()
  expect(permissionsOf('codehost.git.force_push')).toEqual(['contents:write', 'workflows:write'])
  expect(permissionsOf('codehost.search.code')).toBeNull()
  expect(permissionsOf('codehost.unmapped.get')).toBeNull()
})

test('several actions need the union of their repositories and permissions', () => {
  const one = (type: string, target: string) => ({ type, target, changes_workflows: false })
  const actions = [one('codehost.pr.get', 'acme/site'), one('codehost.file.update', 'acme/tools')]
  expect(permissionNeed(actions, true)).toEqual({
    ...{ repositories: ['acme/site', 'acme/tools'], readsMore: true },
    permissions: ['contents:write', 'pull_requests:read'],
  })
})
