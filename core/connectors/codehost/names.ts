import type { NameKind, NameRules } from '../names.ts'

/** Parameters that name an owner, organization, user, team or enterprise. */
const NAMES = `
  owner org organization organizations organization_slugs enterprise enterprise_team repo_owner template_owner new_owner
  username usernames selected_usernames user users login logins assignee assignees reviewers target_user
  team_slug team_reviewers teams selected_teams actor actor_identifier author creator mentioned
  userLogin userLogins ownerLogin ownerLogins organizationLogin organizationLogins teamSlug teamSlugs
`
/**
 * Parameters that name a repository, with or without its owner. `name` is the name of a new or renamed repository.
 * `name` also names labels, teams and variables, which the code host compares without case as well.
 */
const REPOSITORIES = `
  name repo repo_name head_repo repository repositories repository_names template_repo full_name
  repositoryName repositoryNames repositoryNameWithOwner nameWithOwner
`

/** Parameters that name a branch, with or without the owner of its repository. */
const BRANCHES = 'head basehead'

/**
 * The code host compares owners, organizations, users and repositories without case, but branches, tags and paths
 * exactly. The target of an unmapped request is its host and path. This target contains names of owners and
 * repositories, so it is compared without case.
 */
export const CODEHOST_NAMES: NameRules = {
  target: 'repository',
  account: 'name',
  parameters: new Map([
    ...kinds(NAMES, 'name'),
    ...kinds(REPOSITORIES, 'repository'),
    ...kinds(BRANCHES, 'branch'),
  ]),
}

function kinds(words: string, kind: NameKind): ReadonlyArray<readonly [string, NameKind]> {
  return words
    .trim()
    .split(/\s+/)
    .map((word) => [word, kind] as const)
}
