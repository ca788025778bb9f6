import type { LookUpValues } from '../binding/look-up.ts'

/**
 * GraphQL query for the repository and the name of the node with an id. The query uses only types that exist in all
 * versions of the published schema, because a server refuses a query with an unknown type.
 */
const QUERY = `query($id:ID!){node(id:$id){__typename
...on Repository{nameWithOwner}
...on RepositoryNode{repository{nameWithOwner}}
...on Ref{repository{nameWithOwner}}
...on Release{repository{nameWithOwner}}
...on Label{repository{nameWithOwner} name}
...on Milestone{repository{nameWithOwner}}
...on Deployment{repository{nameWithOwner}}
...on Commit{repository{nameWithOwner}}
...on CheckRun{repository{nameWithOwner}}
...on CheckSuite{repository{nameWithOwner}}
...on PullRequestReviewThread{repository{nameWithOwner}}
...on BranchProtectionRule{rule:repository{nameWithOwner}}
...on Organization{login}
...on Actor{actor:login}}}`

/**
 * GraphQL types of nodes that belong to no repository. A request names such a node in addition to the affected
 * resource, for example as an assignee.
 */
const BYSTANDERS: ReadonlySet<unknown> = new Set(['User', 'Bot', 'Mannequin', 'Team'])

export const NODE = {
  name: 'node',
  query: QUERY.replaceAll('\n', ' '),
  members: [
    ['data', 'node', '__typename'],
    ['data', 'node', 'nameWithOwner'],
    ['data', 'node', 'repository', 'nameWithOwner'],
    ['data', 'node', 'rule', 'nameWithOwner'],
    ['data', 'node', 'login'],
    ['data', 'node', 'name'],
    ['data', 'node', 'actor'],
  ],
  /**
   * Returns the repository of the node as `owner/name`, or the login of an organization, from the values of `members`;
   * `nobody` for a type that belongs to no repository.
   */
  ownerOf([type, own, repository, rule, login]: NonNullable<LookUpValues>) {
    return BYSTANDERS.has(type) ? 'nobody' : (own ?? repository ?? rule ?? login)
  },
  /** Returns the name of a label, or the login of an account; undefined for other nodes. */
  nameOf: (values: NonNullable<LookUpValues>) => values[5] ?? values[6],
} as const

/** GraphQL query that reads, by node id, the states that approvals are bound to. */
export const PINNED_NODE =
  'query($id:ID!){node(id:$id){...on PullRequest{headRefOid baseRefName} ...on Ref{target{oid}} ...on Release{updatedAt}}}'
