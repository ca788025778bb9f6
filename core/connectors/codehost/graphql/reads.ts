import type { FieldNode } from 'graphql'
import type { Action, Parameters } from '../../../action/action.ts'
import { isRefusal, type Refusal } from '../../../request/canonical.ts'
import { type ActionParts, namedAction } from '../../named-action.ts'
import { type Operation, rootFields } from './document.ts'
import type { Given } from './mutations.ts'
import { argumentsOf } from './values.ts'

/**
 * Query fields, with the action of the equivalent REST read. The action applies only if all selected fields are
 * scalars.
 */
const PLAIN: Readonly<Record<string, string>> = {
  viewer: 'user.get_self',
  user: 'user.get',
  organization: 'org.get',
  rateLimit: 'rate_limit.get',
  meta: 'meta.get',
  license: 'license.get',
  licenses: 'license.list',
  codeOfConduct: 'code_of_conduct.get',
  codesOfConduct: 'code_of_conduct.list',
}
/**
 * Fields of `repository`, with the action of the equivalent REST read. Their selection may contain connection wrappers
 * (`nodes`, `edges`).
 */
const OF_REPOSITORY: Readonly<Record<string, string>> = {
  pullRequest: 'pr.get',
  pullRequests: 'pr.list',
  issue: 'issue.get',
  issues: 'issue.list',
  label: 'label.get',
  labels: 'label.list',
  milestone: 'milestone.get',
  milestones: 'milestone.list',
  release: 'release.get_by_tag',
  releases: 'release.list',
  ref: 'git_ref.get',
  refs: 'git_ref.list',
  deployments: 'deployment.list',
  collaborators: 'collaborator.list',
}
const WRAPPING = new Set(['nodes', 'edges', 'node', 'pageInfo'])
const MAX_WRAPPING = 4

type Reading = { readonly operation: Operation; readonly given: Given }

/**
 * Returns the actions of a query field. A selection of scalar fields has the action of the equivalent REST read. A
 * deeper selection can reach any object of the graph, so its action is `codehost.graphql.<field>`. Introspection is
 * `codehost.graphql.introspect`.
 */
export function queryActions(field: FieldNode, reading: Reading): readonly Action[] | Refusal {
  const name = field.name.value
  if (name.startsWith('__')) return [read('graphql.introspect', {}, reading)]
  const parameters = argumentsOf(field, reading.operation.variables)
  if (name === 'repository') return repositoryActions(field, parameters, reading)
  const isPlainRead = isPlain(field, reading, 0)
  if (isRefusal(isPlainRead)) return isPlainRead
  const plain = isPlainRead ? PLAIN[name] : undefined
  return [read(plain ?? `graphql.${name}`, parameters, reading)]
}

function repositoryActions(
  field: FieldNode,
  parameters: Parameters,
  reading: Reading,
): readonly Action[] | Refusal {
  const { operation } = reading
  const inner = field.selectionSet === undefined ? [] : rootFields(field.selectionSet, operation)
  if (isRefusal(inner)) return inner
  const { name, ...others } = parameters
  // The REST rows call this parameter `repo`.
  const renamed = name === undefined ? parameters : { ...others, repo: name }
  const types = new Set<string>()
  for (const child of inner) {
    const type = repositoryRead(child, reading)
    if (isRefusal(type)) return type
    types.add(type)
  }
  return [...types].map((type) => read(type, renamed, reading))
}

function repositoryRead(child: FieldNode, reading: Reading): string | Refusal {
  if (child.selectionSet === undefined) return 'repo.get'
  const plain = isPlain(child, reading, 0)
  if (isRefusal(plain)) return plain
  return (plain ? OF_REPOSITORY[child.name.value] : undefined) ?? 'graphql.repository'
}

/** True if all fields below this field are scalars, apart from connection wrappers (`nodes`, `edges`). */
function isPlain(field: FieldNode, reading: Reading, depth: number): boolean | Refusal {
  if (field.selectionSet === undefined) return true
  if (depth > MAX_WRAPPING) return false
  const inner = rootFields(field.selectionSet, reading.operation)
  if (isRefusal(inner)) return inner
  for (const child of inner) {
    if (child.selectionSet === undefined) continue
    const below = WRAPPING.has(child.name.value) ? isPlain(child, reading, depth + 1) : false
    if (below !== true) return below
  }
  return true
}

function read(action: string, parameters: Parameters, { given }: Reading): Action {
  const type = `codehost.${action}`
  const risk = given.known.get(type)?.risk ?? 'low'
  const target = targetOf(action, parameters)
  return namedAction(
    { connector: 'codehost', type, effect: 'read', risk, parameters, ...target },
    given.config,
  )
}

function targetOf(
  action: string,
  { owner, repo, login }: Parameters,
): Pick<ActionParts, 'target' | 'account'> {
  if (typeof owner === 'string' && typeof repo === 'string')
    return { account: owner, target: `${owner}/${repo}` }
  return action === 'org.get' && typeof login === 'string' ? { account: login, target: login } : {}
}
