export type SummarisedAction = {
  readonly action_type: string
  readonly target: string | null
  readonly host: string | null
  readonly parameters: Readonly<Record<string, unknown>>
}

/**
 * Summary of an action in one sentence. `url` is the page of the action's object at the provider, such as a pull
 * request; null if unknown.
 */
export type ActionSummary = { readonly sentence: string; readonly url: string | null }

/**
 * Returns the summary of an action that `SENTENCES` lists. Returns null for other actions, and for an action without a
 * target or without a parameter that the sentence requires. Names and values come from the request, so the sentence is
 * untrusted text. The URL always leads to the provider.
 */
export function actionSummary(action: SummarisedAction): ActionSummary | null {
  const write = Object.hasOwn(SENTENCES, action.action_type) ? SENTENCES[action.action_type] : undefined
  if (write === undefined || action.target === null) return null
  const facts = factsOf(action, action.target)
  const written = write(facts)
  if (written === null) return null
  return { sentence: `${written.sentence}.`, url: pageOf(action, written.page ?? null) }
}

type Facts = {
  readonly target: string
  /**
   * Returns the value of the first present parameter of these names, as short text. Null when none is present, or when
   * the value is neither text nor number.
   */
  readonly of: (...names: string[]) => string | null
}
type Written = {
  readonly sentence: string
  /** Segments of the path to the object's page, after the target, such as `pull` and `7`. */
  readonly page?: readonly string[]
} | null

const MAX_VALUE = 120

/** Known values of the parameter `merge_method`. */
const MERGE_METHODS = ['merge', 'squash', 'rebase']
/** Verb of a review, by the event that the request states. A review without an event is a draft. */
const REVIEWS: Readonly<Record<string, string>> = {
  APPROVE: 'Approve',
  REQUEST_CHANGES: 'Request changes to',
  COMMENT: 'Comment on',
}

const SENTENCES: Readonly<Record<string, (facts: Facts) => Written>> = {
  'codehost.pr.merge': ({ target, of }) => {
    const method = of('merge_method')?.toLowerCase() ?? ''
    const how = MERGE_METHODS.includes(method) ? ` by ${method}` : ''
    return numbered(of('number'), (number) => ({
      sentence: `Merge pull request #${number} of ${target}${how}`,
      page: ['pull', number],
    }))
  },
  'codehost.pr.create': ({ target, of }) =>
    titled(`Open a pull request in ${target}`, of('title'), ['pulls']),
  'codehost.pr.review': ({ target, of }) => {
    const event = of('event')?.toUpperCase() ?? ''
    const verb = Object.hasOwn(REVIEWS, event) ? REVIEWS[event] : 'Review'
    return numbered(of('number'), (number) => ({
      sentence: `${verb} pull request #${number} of ${target}`,
      page: ['pull', number],
    }))
  },
  'codehost.issue.create': ({ target, of }) =>
    titled(`Create an issue in ${target}`, of('title'), ['issues']),
  'codehost.issue_comment.create': ({ target, of }) =>
    numbered(of('number'), (number) => ({
      sentence: `Comment on #${number} of ${target}`,
      page: ['issues', number],
    })),
  'codehost.branch.create': ({ target, of }) =>
    given(of('ref'), (ref) => ({ sentence: `Create ${named(ref)} in ${target}`, page: ['branches'] })),
  'codehost.branch.delete': ({ target, of }) =>
    given(of('ref'), (ref) => ({ sentence: `Delete ${named(ref)} of ${target}`, page: ['branches'] })),
  'codehost.git.force_push': ({ target, of }) => ({
    sentence: `Overwrite the history of ${named(of('ref')) ?? 'a reference'} in ${target}`,
    page: [],
  }),
  'codehost.repo.delete': ({ target }) => ({ sentence: `Delete the repository ${target}`, page: [] }),
  'codehost.repo.transfer': ({ target, of }) => ({
    sentence: `Transfer the repository ${target} to ${named(of('new_owner')) ?? 'another owner'}`,
    page: [],
  }),
  'payments.charge.refund': ({ target, of }) => {
    const amount = of('amount')
    return {
      sentence: `Refund ${amount === null ? 'the whole amount' : `${named(amount)} (smallest unit)`} of ${target}`,
    }
  },
  'chat.message.post': ({ target }) => ({ sentence: `Post a message to the channel ${target}` }),
}

function given(value: string | null, write: (value: string) => Written): Written {
  return value === null ? null : write(value)
}

function numbered(value: string | null, write: (value: string) => Written): Written {
  return value === null || !/^\d+$/.test(value) ? null : write(value)
}

function titled(sentence: string, title: string | null, page: readonly string[]): Written {
  return { sentence: title === null ? sentence : `${sentence}: ${JSON.stringify(title)}`, page }
}

/** Quotes a value that is no plain name, so that it does not read like words of the sentence. */
function named<Value extends string | null>(value: Value): Value | string {
  return value === null || /^[\w./@#:+-]+$/.test(value) ? value : JSON.stringify(value)
}

function factsOf({ parameters }: SummarisedAction, target: string): Facts {
  const others = parameters['other_fields']
  const more = typeof others === 'object' && others !== null ? (others as Record<string, unknown>) : {}
  return {
    target: named(target),
    of: (...names) => {
      const found = names
        .flatMap((name) => [parameters[name], more[name]])
        .find((value) => value !== undefined)
      if (typeof found === 'number') return String(found)
      return typeof found === 'string' && found !== '' ? found.slice(0, MAX_VALUE) : null
    },
  }
}

const SITES: Readonly<Record<string, string>> = {
  'api.github.com': 'https://github.com',
  'github.com': 'https://github.com',
}

function pageOf({ host, target }: SummarisedAction, page: readonly string[] | null): string | null {
  const site = Object.hasOwn(SITES, host ?? '') ? SITES[host ?? ''] : undefined
  if (site === undefined || page === null || target === null) return null
  const segments = [...target.split('/'), ...page]
  // The browser resolves `.` and `..` in a path, which would lead to another object.
  if (segments.some((segment) => segment === '' || /^\.{1,2}$/.test(segment))) return null
  return `${site}/${segments.map(encodeURIComponent).join('/')}`
}
