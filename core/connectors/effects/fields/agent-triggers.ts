import type { Action, Parameters } from '../../../action/action.ts'
import { fold, matchesPattern, parsePattern } from '../../../action/pattern.ts'
import { isRecord } from '../../fields/fields.ts'
import { MENTIONING, MENTIONING_TEXTS, textOf } from './chat.ts'
import { type FieldRule, valuesOf } from './field-rule.ts'

/**
 * Accounts, labels and mentions that start an agent, as one Connector declares them: whole names, or prefixes followed
 * by `*`. Case is ignored.
 */
export type AgentTriggers = {
  readonly accounts: readonly string[]
  readonly labels: readonly string[]
  readonly mentions: readonly string[]
}

type Matchers = {
  readonly isAccount: (name: string) => boolean
  readonly isLabel: (name: string) => boolean
  readonly isCalledIn: (text: string) => boolean
}

/**
 * Names of coding agents, as a pattern. Such an agent starts if its account is assigned (`copilot-swe-agent[bot]`), if
 * its label is added (`claude`), or if a text mentions it (`@codex fix this`).
 */
const AGENTS = 'copilot|claude|codex|cursor|devin|gemini|jules|openhands|sweep|aider'
const ACCOUNT = new RegExp(`^(app/)?(${AGENTS})([-_.].*)?(\\[bot\\])?$`, 'i')
const LABEL = new RegExp(`^((run|fix|ask|use|assign)[-:/ ]*)?(${AGENTS}|ai|agent)([-:/ ].*)?$`, 'i')
const COMMAND = new RegExp(`(^|[^\\w/.])[@/](${AGENTS})\\b`, 'i')

export const ISSUES = ['issue.create', 'issue.update', 'issue.close']
/**
 * Actions with a text that users see as a comment or a description. The text of a draft is included, because a later
 * request without a text turns the draft into an issue. Texts of releases, commits, statuses and gists are not: no
 * known agent starts from them.
 */
const COMMENTS = [
  ...['issue_comment.create', 'issue_comment.update', 'commit_comment.create', 'commit_comment.update'],
  ...['pr.create', 'pr.update', 'pr.close', 'pr.review', 'pr_review.update', 'pr_review.dismiss'],
  ...['pr_comment.create', 'pr_comment.reply', 'pr_comment.update'],
  ...['graphql.createDiscussion', 'graphql.updateDiscussion'],
  ...['graphql.addDiscussionComment', 'graphql.updateDiscussionComment'],
  ...['team_discussion.create', 'team_discussion.update'],
  ...['team_discussion_comment.create', 'team_discussion_comment.update'],
  ...['project_item.create_draft', 'graphql.updateProjectV2DraftIssue'],
]

/** The rules for agents that are known by their names. */
export const KNOWN_AGENTS = rulesBy({
  isAccount: (name) => ACCOUNT.test(name),
  isLabel: (name) => LABEL.test(name),
  isCalledIn: (text) => COMMAND.test(text),
})

/** Adds the effect class `delegate` to the actions that start an agent according to the patterns of the Connector. */
export function withAgentTriggers(actions: readonly Action[], triggers: AgentTriggers): readonly Action[] {
  const rules = rulesOf(triggers)
  return actions.map((action) => {
    const { type, parameters, effects = [] } = action
    const name = type.slice(type.indexOf('.') + 1)
    const starts = rules.some(({ actions, applies }) => actions.includes(name) && applies(parameters))
    return starts ? { ...action, effects: [...effects, 'delegate'] } : action
  })
}

/**
 * Reports whether a label or an account in `names` starts an agent: because it is in `KNOWN_AGENTS`, or because it
 * matches a pattern of the Connector.
 */
export function startsAgent(
  names: { readonly labels: readonly unknown[]; readonly assignees: readonly unknown[] },
  triggers: AgentTriggers | undefined,
): boolean {
  const rules = triggers === undefined ? KNOWN_AGENTS : [...KNOWN_AGENTS, ...rulesOf(triggers)]
  return rules.some(({ applies }) => applies(names))
}

function rulesBy({ isAccount, isLabel, isCalledIn }: Matchers): readonly FieldRule[] {
  return [
    {
      actions: [...ISSUES, 'issue_assignee.add', 'pr_reviewer.request'],
      effects: ['delegate'],
      reason: 'An account of `assignees`, `assignee` or `reviewers` is an agent, which then starts.',
      applies: ({ assignees, assignee, reviewers, botLogins }) =>
        [assignees, assignee, reviewers, botLogins]
          .flatMap(valuesOf)
          .some((name) => isAccount(String(name).trim())),
    },
    {
      actions: [...ISSUES, 'issue_label.add', 'issue_label.set'],
      effects: ['delegate'],
      reason: 'A label of `labels` starts an agent by its name.',
      applies: ({ labels }) => valuesOf(labels).some((label) => isLabel(nameOf(label).trim())),
    },
    {
      actions: [...ISSUES, ...COMMENTS],
      effects: ['delegate'],
      reason: 'The text calls an agent (`@claude`, `/codex`).',
      applies: ({ title, body, message, comments, threads }) =>
        [title, body, message, ...[comments, threads].flatMap(bodiesOf)].some(
          (text) => typeof text === 'string' && isCalledIn(text),
        ),
    },
  ]
}

/**
 * Returns the rule for chat messages and comments of uploads. No account of a chat is known to be an agent, because ids
 * of apps and of users have the same form.
 */
function chatRule(isCalledIn: Matchers['isCalledIn']): FieldRule {
  return {
    actions: MENTIONING,
    effects: ['delegate'],
    reason: 'The text mentions an agent (`<@U0AGENT>`).',
    applies: (parameters) =>
      MENTIONING_TEXTS.some((name) => isCalledIn(withPlainMentions(textOf(parameters[name])))),
  }
}

/**
 * Writes each mention as `@ID`: `<!subteam^ID>` of a user group, and members `user_id` and `usergroup_id` of rich text.
 */
function withPlainMentions(text: string): string {
  return text.replaceAll(/!subteam\^|"user(?:group)?_id"\s*:\s*"/g, ' @')
}

/** Returns the texts of the comments of a review. */
function bodiesOf(comments: unknown): readonly unknown[] {
  return valuesOf(comments).map((comment) => (isRecord(comment) ? comment['body'] : comment))
}

function nameOf(label: unknown): string {
  return String(isRecord(label) ? (label as Parameters)['name'] : label)
}

const compiled = new WeakMap<AgentTriggers, readonly FieldRule[]>()

function rulesOf(triggers: AgentTriggers): readonly FieldRule[] {
  const known = compiled.get(triggers)
  if (known !== undefined) return known
  const isAccount = anyOf(triggers.accounts)
  const mention = mentionOf(triggers.mentions)
  const isCalledIn = (text: string) => mention?.test(text) === true
  const ofCodehost = rulesBy({
    isAccount: (name) => isAccount(name) || isAccount(withoutAppMarks(name)),
    isLabel: anyOf(triggers.labels),
    isCalledIn,
  })
  const rules = [...ofCodehost, chatRule(isCalledIn)]
  compiled.set(triggers, rules)
  return rules
}

function anyOf(texts: readonly string[]): (name: string) => boolean {
  const patterns = texts.map(parsePattern)
  return (name) => patterns.some((pattern) => matchesPattern(pattern, name, 'tighten'))
}

/** Returns the name of an app's account without the marks that only some calls have: `app/x` and `x[bot]` are `x`. */
function withoutAppMarks(name: string): string {
  return fold(name)
    .replace(/^app\//, '')
    .replace(/\[bot\]$/, '')
}

function mentionOf(texts: readonly string[]): RegExp | null {
  if (texts.length === 0) return null
  const names = texts.map((text) =>
    text.endsWith('*') ? escaped(text.slice(0, -1)) : `${escaped(text)}(?![\\w-])`,
  )
  return new RegExp(`(?:^|[^\\w/.])[@/](?:${names.join('|')})`, 'i')
}

function escaped(text: string): string {
  return text.replaceAll(/\W/g, '\\$&')
}
