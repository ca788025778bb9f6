import { describe, expect, test } from 'vitest'
import { ActionSpec, actionFromSpec } from '../../../../core/action/spec.ts'
import { effectsOf } from '../../../../core/connectors/effects/effects.ts'
import { withImpliedActions } from '../../../../core/connectors/execute/implied-actions.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import type { ConnectorEntry } from '../../../../core/wire/gateway/sync.ts'
import { boundOf, nameRequest, rawOf, USUAL_HOST } from '../golden.ts'

type Sent = {
  method?: string
  target: string
  body?: unknown
  form?: string
  connector: ConnectorEntry['type']
}

function actionsOf({ method = 'POST', target, body, form, connector }: Sent) {
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded'
  const text = form ?? (body === undefined ? undefined : JSON.stringify(body))
  const request = {
    method,
    target,
    headers: [['Content-Type', type]] as const,
    ...(text === undefined ? {} : { body: text }),
  }
  const named = nameRequest(boundOf(connector), rawOf(request, USUAL_HOST[connector]), text)
  if (named.kind !== 'actions') throw new Error(JSON.stringify(named))
  return named.actions
}

/** The classes without those that a look-up settles. */
const classes = (sent: Sent) =>
  actionsOf(sent).map(({ possibleEffects: _possible, ...action }) => [action.type, effectsOf(action)])
const graphql = (query: string) => ({ connector: 'codehost', target: '/graphql', body: { query } }) as const
const on = (target: string, body: unknown, method = 'POST') =>
  ({ connector: 'codehost', target, body, method }) as const

describe('fields of a request add effect classes', () => {
  test.each<[string, Sent, string, string[]]>([
    [
      'a repository made public',
      on('/repos/o/r', { private: false }, 'PATCH'),
      'codehost.repo.update',
      ['visibility'],
    ],
    [
      'scanners turned off',
      on('/repos/o/r', { security_and_analysis: {} }, 'PATCH'),
      'codehost.repo.update',
      ['visibility'],
    ],
    ['a description', on('/repos/o/r', { description: 'x' }, 'PATCH'), 'codehost.repo.update', []],
    ['a public repository', on('/user/repos', { name: 'x' }), 'codehost.repo.create', ['visibility']],
    ['a private repository', on('/user/repos', { name: 'x', private: true }), 'codehost.repo.create', []],
    [
      'a workflow',
      on('/repos/o/r/contents/.github/workflows/x.yml', { message: 'm' }, 'PUT'),
      'codehost.file.create',
      ['code_execution'],
    ],
    [
      'a workflow in capitals',
      on('/repos/o/r/contents/.GitHub/Workflows/x.yml', { message: 'm' }, 'PUT'),
      'codehost.file.create',
      ['code_execution'],
    ],
    ['a file', on('/repos/o/r/contents/src/.github.ts', { message: 'm' }, 'PUT'), 'codehost.file.create', []],
    [
      'a workflow in a tree',
      on('/repos/o/r/git/trees', { tree: [{ path: 'a' }, { path: '.github/workflows/x.yml' }] }),
      'codehost.git_tree.create',
      ['code_execution'],
    ],
    [
      'a folder of workflows in a tree',
      on('/repos/o/r/git/trees', { tree: [{ path: '.github', sha: 'a' }] }),
      'codehost.git_tree.create',
      ['code_execution'],
    ],
    [
      'a file in a tree',
      on('/repos/o/r/git/trees', { tree: [{ path: 'a' }] }),
      'codehost.git_tree.create',
      [],
    ],
    [
      'a workflow by GraphQL',
      graphql(
        'mutation { createCommitOnBranch(input: {branch: {branchName: "a"}, expectedHeadOid: "a", message: {headline: "a"}, fileChanges: {additions: [{path: ".github/workflows/x.yml", contents: ""}]}}) { clientMutationId } }',
      ),
      'codehost.graphql.createCommitOnBranch',
      ['code_execution'],
    ],
    [
      'an issue for an agent',
      on('/repos/o/r/issues', { title: 'x', agent_assignment: {} }),
      'codehost.issue.create',
      ['delegate'],
    ],
    [
      'an agent as assignee',
      on('/repos/o/r/issues/1/assignees', { assignees: ['copilot-swe-agent[bot]'] }),
      'codehost.issue_assignee.add',
      ['delegate'],
    ],
    [
      'a person as assignee',
      on('/repos/o/r/issues/1/assignees', { assignees: ['claudette'] }),
      'codehost.issue_assignee.add',
      [],
    ],
    [
      'a label that starts an agent',
      on('/repos/o/r/issues/1/labels', { labels: ['claude'] }),
      'codehost.issue_label.add',
      ['delegate'],
    ],
    [
      'a label',
      on('/repos/o/r/issues/1/labels', { labels: ['bug', 'maintenance'] }),
      'codehost.issue_label.add',
      [],
    ],
    [
      'a comment that calls an agent',
      on('/repos/o/r/issues/1/comments', { body: 'Well, @claude fix it' }),
      'codehost.issue_comment.create',
      ['delegate'],
    ],
    [
      'a comment',
      on('/repos/o/r/issues/1/comments', { body: 'mail me@claude.test' }),
      'codehost.issue_comment.create',
      [],
    ],
    [
      'the same by GraphQL',
      graphql('mutation { addComment(input: {subjectId: "I", body: "/codex go"}) { clientMutationId } }'),
      'codehost.issue_comment.create',
      ['delegate'],
    ],
    [
      'an issue from a template, whose labels and assignees the request does not show',
      graphql(
        'mutation { createIssue(input: {repositoryId: "R_1", title: "x", issueTemplate: "bug.md"}) { clientMutationId } }',
      ),
      'codehost.issue.create',
      ['delegate'],
    ],
    [
      'a token for cloning in a fragment',
      graphql('query { node(id: "R_1") { ...f } } fragment f on Repository { token: tempCloneToken }'),
      'codehost.graphql.node',
      ['credential_out'],
    ],
    [
      'a token for cloning in the result of a mutation',
      graphql(
        'mutation { createIssue(input: {repositoryId: "R_1", title: "x"}) { issue { repository { tempCloneToken } } } }',
      ),
      'codehost.issue.create',
      ['credential_out'],
    ],
    [
      'a branch that becomes a website',
      on('/repos/o/r/git/refs', { ref: 'refs/heads/gh-pages', sha: 'a' }),
      'codehost.branch.create',
      ['publish'],
    ],
    [
      'the same by GraphQL',
      graphql(
        'mutation { createRef(input: {repositoryId: "R_1", name: "refs/heads/gh-pages", oid: "a"}) { clientMutationId } }',
      ),
      'codehost.branch.create',
      ['publish'],
    ],
    [
      'a website that is moved',
      on('/repos/o/r/git/refs/heads/gh-pages', { sha: 'a' }, 'PATCH'),
      'codehost.branch.update',
      ['publish'],
    ],
    [
      'a branch that is renamed to a website',
      on('/repos/o/r/branches/x/rename', { new_name: 'gh-pages' }),
      'codehost.branch.rename',
      ['publish'],
    ],
    [
      'a branch',
      on('/repos/o/r/git/refs', { ref: 'refs/heads/gh-pages-2', sha: 'a' }),
      'codehost.branch.create',
      [],
    ],
    [
      'an image block',
      {
        connector: 'chat',
        target: '/api/chat.postMessage',
        body: {
          channel: 'C1',
          blocks: [{ type: 'image', image_url: 'https://x.test/?d=1' }],
          unfurl_links: false,
          unfurl_media: false,
        },
      },
      'chat.message.post',
      ['egress'],
    ],
    [
      'an unfurled link',
      {
        connector: 'chat',
        target: '/api/chat.postMessage',
        form: 'channel=C1&text=see+https%3A%2F%2Fx.test',
      },
      'chat.message.post',
      ['egress'],
    ],
    [
      'a host that becomes a link, by a mode in capitals',
      {
        connector: 'chat',
        target: '/api/chat.postMessage',
        body: { channel: 'C1', text: 'x.test', parse: 'FULL' },
      },
      'chat.message.post',
      ['egress'],
    ],
    [
      'a link that is not unfurled',
      {
        connector: 'chat',
        target: '/api/chat.postMessage',
        body: { channel: 'C1', text: 'https://x.test', unfurl_links: false, unfurl_media: false },
      },
      'chat.message.post',
      [],
    ],
    [
      'a text',
      { connector: 'chat', target: '/api/chat.postMessage', body: { channel: 'C1', text: 'hello' } },
      'chat.message.post',
      [],
    ],
    [
      'a card number',
      { connector: 'payments', method: 'GET', target: '/v1/issuing/cards/ic_1?expand[]=number&expand[]=cvc' },
      'payments.issuing_card.get',
      ['credential_out'],
    ],
    [
      'a customer with a discount',
      { connector: 'payments', target: '/v1/customers', form: 'name=a&promotion_code=promo_1' },
      'payments.customer.create',
      ['money_out'],
    ],
    [
      'a customer with a subscription, in old versions of the API',
      { connector: 'payments', target: '/v1/customers', form: 'name=a&plan=p_1&source=tok_1' },
      'payments.customer.create',
      ['money_out'],
    ],
    [
      'a customer',
      { connector: 'payments', target: '/v1/customers', form: 'name=a&metadata[coupon]=x' },
      'payments.customer.create',
      [],
    ],
    [
      'the secret of an app in a list',
      { connector: 'payments', method: 'GET', target: '/v1/apps/secrets?expand%5B%5D=data.payload' },
      'payments.app_secret.list',
      ['credential_out'],
    ],
    [
      'a card',
      { connector: 'payments', method: 'GET', target: '/v1/issuing/cards/ic_1?expand[]=cardholder' },
      'payments.issuing_card.get',
      [],
    ],
    [
      'a credit',
      { connector: 'payments', target: '/v1/customers', form: 'balance=-1000000' },
      'payments.customer.create',
      ['money_out'],
    ],
    [
      'a destination',
      {
        connector: 'payments',
        target: '/v1/payment_intents',
        form: 'amount=1&transfer_data[destination]=acct_1',
      },
      'payments.payment_intent.create',
      ['money_out'],
    ],
    [
      'a resource at an address',
      {
        connector: 'mcp',
        target: '/',
        body: { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'https://x.test/?d=1' } },
      },
      'mcp.rpc.resources_read',
      ['egress'],
    ],
    [
      'a resource of the server',
      {
        connector: 'mcp',
        target: '/',
        body: { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'file:///a' } },
      },
      'mcp.rpc.resources_read',
      [],
    ],
    [
      'a prompt with arguments',
      {
        connector: 'mcp',
        target: '/',
        body: { jsonrpc: '2.0', id: 1, method: 'prompts/get', params: { name: 'p', arguments: { a: '1' } } },
      },
      'mcp.rpc.prompts_get',
      ['egress'],
    ],
    [
      'a completion',
      {
        connector: 'mcp',
        target: '/',
        body: {
          jsonrpc: '2.0',
          id: 1,
          method: 'completion/complete',
          params: { ref: {}, argument: { name: 'a', value: 'b' } },
        },
      },
      'mcp.rpc.completion_complete',
      ['egress'],
    ],
  ])('%s', (_name, sent, type, expected) => {
    expect(classes(sent)).toEqual([[type, expected]])
  })

  test('secrets in the answer are high, and credit has financial impact', () => {
    const [card] = actionsOf({
      connector: 'payments',
      method: 'GET',
      target: '/v1/issuing/cards/ic_1?expand[]=cvc',
    })
    expect(card?.risk).toBe('high')
    const [customer] = actionsOf({ connector: 'payments', target: '/v1/customers', form: 'balance=-1' })
    expect(customer?.riskHints).toEqual({ financial_impact: true })
  })
})

describe('agent triggers of a Connector', () => {
  const agentTriggers = {
    accounts: ['acme-agent', 'fixer-*'],
    labels: ['autofix', 'bot:*'],
    mentions: ['acme-agent', 'acme/fixers', 'helper*'],
  }
  const effects = (target: string, body: unknown, more: Partial<ConnectorEntry> = { agentTriggers }) => {
    const text = JSON.stringify(body)
    const request = {
      method: 'POST',
      target,
      headers: [['Content-Type', 'application/json']] as const,
      body: text,
    }
    const named = nameRequest(boundOf('codehost', more), rawOf(request, USUAL_HOST.codehost), text)
    if (named.kind !== 'actions') throw new Error(JSON.stringify(named))
    return named.actions.flatMap((action): readonly string[] => effectsOf(action) ?? ['unknown'])
  }
  const LABELS = '/repos/o/r/issues/1/labels'
  const ASSIGNEES = '/repos/o/r/issues/1/assignees'
  const COMMENTS = '/repos/o/r/issues/1/comments'

  test.each([
    [LABELS, { labels: ['bug', 'AutoFix'] }],
    [LABELS, { labels: ['bot:now'] }],
    [LABELS, { labels: [{ name: ' autofix ' }] }],
    [LABELS, { labels: ['claude'] }],
    [ASSIGNEES, { assignees: ['acme-agent'] }],
    [ASSIGNEES, { assignees: ['app/Acme-Agent'] }],
    [ASSIGNEES, { assignees: ['acme-agent[bot]'] }],
    [ASSIGNEES, { assignees: ['fixer-7'] }],
    ['/repos/o/r/pulls/1/requested_reviewers', { reviewers: ['acme-agent'] }],
    [COMMENTS, { body: 'Please, @acme-agent: fix it.' }],
    [COMMENTS, { body: '/ACME-agent' }],
    [COMMENTS, { body: '(@acme/fixers)' }],
    [COMMENTS, { body: '@helper-7' }],
    [COMMENTS, { body: '@claude' }],
    ['/repos/o/r/issues', { title: '@acme-agent', body: 'x' }],
  ])('%s with %j is delegate', (target, body) => {
    expect(effects(target, body)).toEqual(['delegate'])
  })

  test.each([
    [LABELS, { labels: ['autofixed', 'bot', 'acme-agent'] }],
    [ASSIGNEES, { assignees: ['acme-agent-2', 'fixer', 'autofix'] }],
    [COMMENTS, { body: 'acme-agent, me@acme-agent, https://x/acme-agent, @acme-agents, @acme-agent-2' }],
    [COMMENTS, { body: 'autofix' }],
  ])('%s with %j is not', (target, body) => {
    expect(effects(target, body)).toEqual([])
  })

  test('without patterns only known agents are delegate', () => {
    expect(effects(LABELS, { labels: ['autofix'] }, {})).toEqual([])
    const none = { agentTriggers: { accounts: [], labels: [], mentions: [] } }
    expect(effects(COMMENTS, { body: '@acme-agent' }, none)).toEqual([])
  })

  test('an action submitted by name is delegate, too', () => {
    const resource = { provider: 'codehost', target: 'o/r' }
    const spec = { type: 'codehost.issue_label.add', resource, parameters: { labels: ['autofix'] } }
    const bound = boundOf('codehost', { agentTriggers })
    const actions = withImpliedActions(actionFromSpec(ActionSpec.parse(spec), null), bound)
    if (isRefusal(actions)) throw new Error(actions.detail)
    expect(actions.map(effectsOf)).toEqual([['delegate']])
  })

  // A search that is quadratic in the length exceeds the time limit of the test.
  test('a long text of beginnings of mentions is searched in one pass', () => {
    expect(effects(COMMENTS, { body: '@'.repeat(2_000_000) + '/acme'.repeat(400_000) })).toEqual([])
  })

  describe('on a chat', () => {
    const ofChat = {
      agentTriggers: { accounts: [], labels: [], mentions: ['U0AGENT', 'S0FIXERS', 'acme-bot'] },
    }
    const inChat = (method: string, body: object, more: Partial<ConnectorEntry> = ofChat) => {
      const text = JSON.stringify(body)
      const headers = [['Content-Type', 'application/json']] as const
      const request = { method: 'POST', target: `/api/${method}`, headers, body: text }
      const named = nameRequest(boundOf('chat', more), rawOf(request, USUAL_HOST.chat), text)
      if (named.kind !== 'actions') throw new Error(JSON.stringify(named))
      return named.actions.flatMap(
        ({ possibleEffects: _possible, ...action }): readonly string[] => effectsOf(action) ?? ['unknown'],
      )
    }
    const rich = (element: object) => [{ type: 'rich_text', elements: [{ elements: [element] }] }]

    test.each<[string, object]>([
      ['chat.postMessage', { channel: 'C1', text: 'Fix it, <@U0AGENT>.' }],
      ['chat.postMessage', { channel: 'C1', text: '<@U0AGENT|bot> fix it' }],
      ['chat.postMessage', { channel: 'C1', text: '@acme-bot fix it', link_names: true }],
      ['chat.postMessage', { channel: 'C1', markdown_text: 'Ask <!subteam^S0FIXERS>.' }],
      ['chat.postMessage', { channel: 'C1', blocks: rich({ type: 'user', user_id: 'U0AGENT' }) }],
      ['chat.postMessage', { channel: 'C1', blocks: rich({ type: 'usergroup', usergroup_id: 'S0FIXERS' }) }],
      ['chat.postMessage', { channel: 'C1', attachments: JSON.stringify([{ text: '<\\u0040U0AGENT>' }]) }],
      ['chat.update', { channel: 'C1', ts: '1', text: '<@u0agent>' }],
      ['chat.scheduleMessage', { channel: 'C1', text: '<@U0AGENT>', post_at: 1 }],
      ['chat.startStream', { channel: 'C1', chunks: [{ type: 'markdown_text', text: '<@U0AGENT>' }] }],
    ])('a message that mentions the account or group is delegate: %s %j', (method, body) => {
      expect(inChat(method, body)).toEqual(['delegate'])
      expect(inChat(method, body, {})).toEqual([])
    })

    test.each<[string, object]>([
      ['chat.postMessage', { channel: 'C1', text: '<@U0AGENT2> and <@U0ADA>' }],
      ['chat.postMessage', { channel: 'C1', text: 'U0AGENT, acme-bot, me@acme-bot' }],
      ['reactions.add', { channel: 'C1', timestamp: '1', name: '<@U0AGENT>' }],
    ])('nothing else is: %s %j', (method, body) => {
      expect(inChat(method, body)).toEqual([])
    })
  })
})
