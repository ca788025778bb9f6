import { isWorkflowPath } from '../../codehost/workflow-folder.ts'
import { isRecord } from '../../fields/fields.ts'
import { ISSUES, KNOWN_AGENTS } from './agent-triggers.ts'
import { type FieldRule, has, valuesOf } from './field-rule.ts'

export const CODEHOST_FIELDS: readonly FieldRule[] = [
  {
    actions: ['repo.update'],
    effects: ['visibility'],
    reason:
      '`visibility`, `private` or `security_and_analysis` is given, so the visibility or the security scanning can change.',
    applies: (parameters) => has(parameters, 'visibility', 'private', 'security_and_analysis'),
  },
  {
    actions: ['repo.create'],
    effects: ['visibility'],
    reason: 'Neither `private: true` nor `visibility: private` is given, so the repository may be public.',
    applies: ({ private: isPrivate, visibility }) =>
      isPrivate !== true && !/^private$/i.test(String(visibility)),
  },
  {
    actions: ['file.create', 'file.update', 'file.delete'],
    effects: ['code_execution'],
    reason: 'The path is in a folder of workflows, such as `.github/workflows`, whose files run as programs.',
    applies: ({ path }) => valuesOf(path).some(isWorkflow),
  },
  {
    actions: ['git_tree.create'],
    effects: ['code_execution'],
    reason: 'A path of `tree` is a folder of workflows, whose files run as programs, or contains one.',
    applies: ({ tree }) => pathsOf(tree).some(isWorkflow),
  },
  {
    actions: ['graphql.createCommitOnBranch'],
    effects: ['code_execution'],
    reason: 'A path of `fileChanges` is in a folder of workflows, whose files run as programs.',
    applies: ({ fileChanges }) => changedPaths(fileChanges).some(isWorkflow),
  },
  {
    actions: [
      ...['branch.create', 'branch.update', 'branch.merge', 'release.create', 'release.update'],
      ...['git.push', 'git.force_push', 'graphql.createLinkedBranch'],
    ],
    effects: ['code_execution'],
    reason:
      'The commit was on the server before, and no look-up has shown that it is on a branch of the repository (`sha`, `oid`; `head` and `target_commitish` with a full id): it may come from a fork.',
    // The look-up of `commit-origin.ts` decides whether the class applies; no parameter determines it.
    applies: () => false,
  },
  {
    actions: ISSUES,
    effects: ['delegate'],
    reason: '`agent_assignment` is given.',
    applies: (parameters) => has(parameters, 'agent_assignment', 'agentAssignment'),
  },
  {
    actions: ISSUES,
    effects: ['delegate'],
    reason: '`issueTemplate` is given: labels and assignees come from the template, and may start an agent.',
    applies: (parameters) => has(parameters, 'issueTemplate'),
  },
  {
    actions: ['branch.create', 'branch.update', 'branch.rename', 'branch.merge', 'git.push'],
    effects: ['publish'],
    reason: 'The branch is `gh-pages`: GitHub Pages can publish its content as a website.',
    applies: ({ ref, new_name: name, base }) => [ref, name, base].flatMap(valuesOf).some(isPagesBranch),
  },
  ...KNOWN_AGENTS,
]

function isPagesBranch(ref: unknown): boolean {
  return typeof ref === 'string' && /^(?:refs\/)?(?:heads\/)?gh-pages$/i.test(ref)
}

function isWorkflow(path: unknown): boolean {
  return typeof path === 'string' && isWorkflowPath(path)
}

function pathsOf(items: unknown): readonly unknown[] {
  return valuesOf(items).map((item) => (isRecord(item) ? item['path'] : item))
}

function changedPaths(changes: unknown): readonly unknown[] {
  return isRecord(changes) ? [...pathsOf(changes['additions']), ...pathsOf(changes['deletions'])] : []
}
