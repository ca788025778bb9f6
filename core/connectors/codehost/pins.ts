import type { Action, Parameters } from '../../action/action.ts'
import type { CanonicalRequest } from '../../request/canonical.ts'
import type { LookUp, LookUpPlace } from '../binding/look-up.ts'
import type { Pin, Pins } from '../binding/pin.ts'
import { once } from '../once.ts'
import { completeMutation } from './graphql/complete.ts'
import { PINNED_NODE } from './node-look-up.ts'

/**
 * Table of pins, one per line: `ACTION | STATE | READ | MEMBER | GIVEN`.
 * READ: paths of look-ups below the repository; the first look-up with a response counts. A parameter in a path may
 * have a default after `=`. `node:PARAMETER` reads a node by its GraphQL id. `-`: only the request names the state.
 * MEMBER: the response member with the state.
 * GIVEN: the parameter in which a request may name the state. The API then refuses the action in any other state.
 */
const TABLE = `
  pr.merge           | head commit     | /pulls/{number}              | head.sha   | sha
  pr.merge           | head commit     | node:pullRequestId           | headRefOid | sha
  pr.merge           | base branch     | /pulls/{number}              | base.ref   | -
  pr.merge           | base branch     | node:pullRequestId           | baseRefName | -
  pr.update_branch   | head commit     | /pulls/{number}              | head.sha   | expected_head_sha
  pr.update_branch   | head commit     | node:pullRequestId           | headRefOid | expectedHeadOid
  pr.review          | head commit     | /pulls/{number}              | head.sha   | commit_id
  pr.review          | head commit     | node:pullRequestId           | headRefOid | commitOID
  branch.update      | commit before   | /git/ref/{ref}               | object.sha | -
  branch.update      | commit before   | node:refId                   | target.oid | -
  branch.update      | commit before   | -                            | -          | beforeOid
  branch.delete      | commit before   | /git/ref/{ref}               | object.sha | -
  branch.delete      | commit before   | node:refId                   | target.oid | -
  branch.delete      | commit before   | -                            | -          | beforeOid
  branch.delete      | commit before   | -                            | -          | before
  git.push           | commit before   | -                            | -          | before
  git.force_push     | commit before   | -                            | -          | before
  branch.merge       | commit to merge | /commits/{head}              | sha        | -
  branch.merge       | commit before   | /commits/{base}              | sha        | -
  workflow.dispatch  | commit          | /commits/{ref}               | sha        | -
  deployment.create  | commit          | /commits/{ref}               | sha        | -
  deployment.delete  | commit          | /deployments/{deployment_id} | sha        | -
  deployment.review  | commit          | /actions/runs/{run_id}       | head_sha   | -
  release.create     | commit          | /git/ref/tags/{tag_name} /commits/{target_commitish=HEAD} | object.sha sha | -
  release.update     | last change     | /releases/{id}               | updated_at | -
  release.update     | last change     | node:releaseId               | updatedAt  | -
  release.delete     | last change     | /releases/{id}               | updated_at | -
  release.delete     | last change     | node:releaseId               | updatedAt  | -
  file.update        | content before  | -                            | -          | sha
  file.delete        | content before  | -                            | -          | sha
`

type Row = {
  readonly state: string
  readonly reads: readonly Read[]
  /** Parameter in which the API accepts the state; null if there is none. */
  readonly given: string | null
}
type Read = { readonly from: string; readonly member: readonly string[] }

export const CODEHOST_PINS: Pins = {
  of(action, place) {
    const rows = table().get(action.type) ?? []
    const states = Map.groupBy(rows, ({ state }) => state)
    return [...states].map(([state, ofState]) => pinOf(action, { state, rows: ofState, place }))
  },
  complete: completeMutation,
  entries: () =>
    [...table()].flatMap(([actionType, rows]) =>
      [...Map.groupBy(rows, ({ state }) => state)].map(([state, ofState]) => ({
        actionType,
        state,
        takenAs: [...new Set(ofState.flatMap(({ given }) => given ?? []))],
      })),
    ),
}

type OfState = { readonly state: string; readonly rows: readonly Row[]; readonly place: LookUpPlace }

function pinOf({ type: actionType, parameters, isDeferred }: Action, group: OfState): Pin {
  const { state, rows, place } = group
  if (isDeferred === true) return { actionType, state, reads: [] }
  const given = rows.map((row) => givenBy(row, parameters)).find((one) => one !== undefined)
  if (given !== undefined) return { actionType, state, given, reads: [] }
  for (const row of rows) {
    const reads = row.reads.flatMap((read) => lookUpOf(read, parameters, place.request) ?? [])
    if (reads.length === 0) continue
    return { actionType, state, reads, ...sentBy(row, reads) }
  }
  return { actionType, state, reads: [] }
}

/**
 * Returns how the gateway adds the state to a request: in the JSON body over REST, or in the input of a mutation if
 * the look-up uses a node id.
 */
function sentBy({ given }: Row, reads: readonly LookUp[]): Pick<Pin, 'sentAs' | 'isInMutation'> {
  if (given === null) return {}
  return reads.every(({ method }) => method === 'GET') ? { sentAs: given } : { isInMutation: true }
}

function givenBy({ given }: Row, parameters: Parameters): string | undefined {
  const value = given === null ? undefined : parameters[given]
  return typeof value === 'string' && value !== '' ? value : undefined
}

const MAX_ID = 256

function lookUpOf({ from, member }: Read, parameters: Parameters, request: CanonicalRequest): LookUp | null {
  const { host, rawPath } = request
  const isGraphql = request.segments.at(-1) === 'graphql'
  if (from.startsWith('node:')) {
    const id = parameters[from.slice('node:'.length)]
    if (!isGraphql || typeof id !== 'string' || id.length > MAX_ID) return null
    const body = JSON.stringify({ query: PINNED_NODE, variables: { id } })
    return fresh({ method: 'POST', host, target: rawPath, body }, ['data', 'node', ...member])
  }
  const base = isGraphql ? null : repositoryPath(request)
  const path = filled(from, parameters)
  return base === null || path === null ? null : fresh({ method: 'GET', host, target: base + path }, member)
}

/** Returns a look-up without caching, because an earlier response does not show the present state. */
function fresh(
  question: Pick<LookUp, 'method' | 'host' | 'target' | 'body'>,
  member: readonly string[],
): LookUp {
  return { name: 'pin', ...question, members: [member], keepMs: 0, keptWith: member }
}

/** Returns the path of the request up to the repository; null if the path has no repository. */
export function repositoryPath({ segments, rawSegments }: CanonicalRequest): string | null {
  const at = segments.findIndex((one) => one === 'repos' || one === 'repositories')
  if (at === -1) return null
  const end = at + (segments[at] === 'repos' ? 3 : 2)
  return rawSegments.length < end ? null : `/${rawSegments.slice(0, end).join('/')}`
}

/** Fills the parameters into a path template; null if a parameter is missing or would change the path's structure. */
function filled(template: string, parameters: Parameters): string | null {
  let isWhole = true
  const path = template.replaceAll(/\{(\w+)(?:=(\w+))?\}/g, (_all, name: string, fallback?: string) => {
    const text = pathText(parameters[name] ?? fallback)
    isWhole &&= text !== null
    return text ?? ''
  })
  return isWhole ? path : null
}

/**
 * Returns a parameter value as path segments, without a leading `refs/`, which the API expects in bodies only. Null if
 * the value cannot be part of a path.
 */
function pathText(value: unknown): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const segments = String(value)
    .replace(/^refs\//, '')
    .split('/')
  if (segments.some((one) => one === '' || one === '.' || one === '..')) return null
  return segments.map((one) => encodeURIComponent(one)).join('/')
}

const table = once(() => {
  const lines = TABLE.trim().split('\n')
  return Map.groupBy(lines.map(readLine), ({ type }) => type)
})

function readLine(line: string): Row & { readonly type: string } {
  const [action = '', state = '', from = '', member = '', given = '-'] = line
    .split('|')
    .map((one) => one.trim())
  const members = member.split(' ')
  const reads =
    from === '-'
      ? []
      : from.split(' ').map((one, at) => ({ from: one, member: (members[at] ?? '').split('.') }))
  return { type: `codehost.${action}`, state, reads, given: given === '-' ? null : given }
}
