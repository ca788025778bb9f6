import type { Parameters } from '../../../action/action.ts'
import { isWorkflowPath } from '../../codehost/workflow-folder.ts'
import { isRecord } from '../../fields/fields.ts'
import { type FieldRule, has, valuesOf } from './field-rule.ts'

/**
 * Names of coding agents. Each of these starts an agent: assigning an account (`copilot-swe-agent[bot]`), a label
 * (`claude`) or a mention (`@codex fix this`).
 */
const AGENTS = 'copilot|claude|codex|cursor|devin|gemini|jules|openhands|sweep|aider'
const ACCOUNT = new RegExp(`^(app/)?(${AGENTS})([-_.].*)?(\\[bot\\])?$`, 'i')
const LABEL = new RegExp(`^((run|fix|ask|use|assign)[-:/ ]*)?(${AGENTS}|ai|agent)([-:/ ].*)?$`, 'i')
const COMMAND = new RegExp(`(^|[^\\w/.])[@/](${AGENTS})\\b`, 'i')

const ISSUES = ['issue.create', 'issue.update', 'issue.close']
const COMMENTS = [
  ...['issue_comment.create', 'issue_comment.update', 'commit_comment.create', 'commit_comment.update'],
  ...['pr.create', 'pr.update', 'pr.review', 'pr_review.update'],
  ...['pr_comment.create', 'pr_comment.reply', 'pr_comment.update'],
]

export const CODEHOST_FIELDS: readonly FieldRule[] = [
  {
    actions: ['repo.update'],
    effects: ['visibility'],
    reason: '`visibility`, `private` or `security_and_analysis` is given.',
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
    reason: 'The path is in a folder of workflows, such as `.github/workflows`.',
    applies: ({ path }) => valuesOf(path).some(isWorkflow),
  },
  {
    actions: ['git_tree.create'],
    effects: ['code_execution'],
    reason: 'A path of `tree` is, or holds, a folder of workflows.',
    applies: ({ tree }) => pathsOf(tree).some(isWorkflow),
  },
  {
    actions: ['graphql.createCommitOnBranch'],
    effects: ['code_execution'],
    reason: 'A path of `fileChanges` is in a folder of workflows.',
    applies: ({ fileChanges }) => changedPaths(fileChanges).some(isWorkflow),
  },
  {
    actions: ISSUES,
    effects: ['delegate'],
    reason: '`agent_assignment` is given.',
    applies: (parameters) => has(parameters, 'agent_assignment', 'agentAssignment'),
  },
  {
    actions: [...ISSUES, 'issue_assignee.add', 'pr_reviewer.request'],
    effects: ['delegate'],
    reason: 'An account of `assignees` or `reviewers` is an agent.',
    applies: ({ assignees, reviewers }) =>
      [...valuesOf(assignees), ...valuesOf(reviewers)].some((name) => ACCOUNT.test(String(name).trim())),
  },
  {
    actions: [...ISSUES, 'issue_label.add', 'issue_label.set'],
    effects: ['delegate'],
    reason: 'A label of `labels` starts an agent by its name.',
    applies: ({ labels }) => valuesOf(labels).some((label) => LABEL.test(nameOf(label).trim())),
  },
  {
    actions: [...ISSUES, ...COMMENTS],
    effects: ['delegate'],
    reason: 'The text calls an agent (`@claude`, `/codex`).',
    applies: ({ title, body }) =>
      [title, body].some((text) => typeof text === 'string' && COMMAND.test(text)),
  },
]

function isWorkflow(path: unknown): boolean {
  return typeof path === 'string' && isWorkflowPath(path)
}

function pathsOf(items: unknown): readonly unknown[] {
  return valuesOf(items).map((item) => (isRecord(item) ? item['path'] : item))
}

function changedPaths(changes: unknown): readonly unknown[] {
  return isRecord(changes) ? [...pathsOf(changes['additions']), ...pathsOf(changes['deletions'])] : []
}

function nameOf(label: unknown): string {
  return String(isRecord(label) ? (label as Parameters)['name'] : label)
}
