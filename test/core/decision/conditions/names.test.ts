import { describe, expect, test } from 'vitest'
import type { Action } from '../../../../core/action/action.ts'
import { actionFromSpec } from '../../../../core/action/spec.ts'
import { decide } from '../../../../core/decision/decide.ts'
import { inputOf, rulesOf } from '../fixtures.ts'

const SCOPE = 'scope: { actions: ["codehost.*"] }'

/** The verdict of one rule with this condition, over a permission that allows everything. */
function verdict(
  condition: string,
  action: Partial<Action>,
  { rule = 'deny', scope = SCOPE, context = {} } = {},
) {
  const permissions = [{ id: 'perm_1', connector_type: '*', action_pattern: '*', decision: 'allow' as const }]
  const yaml = `${scope}\nrules:\n  - name: r\n    conditions: [${JSON.stringify(condition)}]\n    decision: ${rule}\n`
  const rules = rulesOf({
    level: 'full_enforce',
    default: rule === 'allow' ? 'deny' : 'allow',
    permissions: rule === 'allow' ? null : permissions,
    policies: [{ id: 'pol_1', yaml }],
  })
  const base = inputOf({ type: 'codehost.repo.delete' })
  return decide(rules, { ...base, context, action: { ...base.action, ...action } }).verdict
}

function at(target: string, parameters: Record<string, unknown> = {}): Partial<Action> {
  const [owner = '', repo = ''] = target.split('/')
  return {
    resource: { provider: 'codehost', target, account: owner },
    parameters: { owner, repo, ...parameters },
  }
}

function compileErrorOf(condition: string, scope = SCOPE): string {
  try {
    verdict(condition, at('acme/site'), { scope })
  } catch (error) {
    return (error as Error).message
  }
  return 'compiled'
}

const SPELLINGS = ['acme/prod', 'ACME/Prod', 'Acme/PROD', 'acme/prod.git', 'ACME/prod.GIT']

describe('names that the code host compares without case', () => {
  test.each([
    'resource.target == "acme/prod"',
    'resource.target == "ACME/Prod"',
    '"Acme/Prod" == resource.target',
    '(resource.target) == ("ACME/Prod")',
    'resource["target"] == "ACME/Prod.git"',
    'resource.target in ["x/y", "ACME/Prod"]',
    'resource.target in {"ACME/Prod": 1}  || resource.target == "ACME/Prod"',
    '!(resource.target != "ACME/Prod")',
    '!(resource.target in ["x/y"]) && resource.target != "ACME/Site"',
    'resource.target == (action.risk == "low" ? "x/y" : "ACME/Prod")',
    '(action.risk == "low" ? "x/y" : resource.target) == "ACME/Prod"',
    'resource.target.startsWith("acme/")',
    'resource.target.endsWith("/prod")',
    'resource.target.contains("e/p")',
    'resource.target.matches("^acme/prod$")',
    'resource.target.matches("(?i)^ACME/PROD$")',
    'resource.target.lowerAscii() == "acme/prod"',
    'resource.account == "ACME"',
    'parameters.owner == "ACME" && parameters.repo == "Prod"',
    'parameters["owner"] in ["Acme"]',
    'parameters.owner + "/" + parameters.repo == "acme/prod"',
    'resource.target == parameters.owner + "/" + parameters.repo',
    '["ACME/Prod"].exists(name, name == resource.target)',
    '["x/y", "ACME/Prod"].exists(name, resource.target.startsWith(name))',
    '[resource.target, "x/y"].exists(name, name == "ACME/Prod")',
    'parameters.exists(key, key == "owner" && parameters[key] == "acme")',
    'has(resource.target) && resource.target == "ACME/Prod"',
    '["ACME/Prod"].filter(name, name == resource.target).size() > 0',
    'size(["x/y", "ACME/Prod"].filter(name, name == resource.target)) == 1',
    'size(resource.target == "ACME/Prod" ? "yes" : "") == 3',
    '["no", "yes"][resource.target == "ACME/Prod" ? 1 : 0] == "yes"',
    'resource.target == context.repo',
    'resource.target in context.repos',
    'context.repos.exists(name, name == resource.target)',
    'context.repo.startsWith(resource.account)',
    'context["repo"] == resource.target',
  ])('%s denies every spelling, and no other repository', (condition) => {
    const context = { repo: 'Acme/pROD', repos: ['x/y', 'aCME/Prod'] }
    const spellings = condition.includes('context.repo.startsWith') ? ['ACME/other'] : SPELLINGS
    for (const target of spellings)
      expect([target, verdict(condition, at(target), { context })]).toEqual([target, 'deny'])
    if (condition.includes('parameters.owner + "/"') && !condition.includes('acme')) return
    if (/startsWith\("|context.repo.start|account == |\["Acme"\]|key/.test(condition)) return
    expect(verdict(condition, at('acme/site'), { context })).toBe('allow')
  })

  test.each([
    'resource.target.startsWith("Acme/")',
    'resource.target.endsWith("/Prod")',
    'resource.target.contains("Prod")',
    '!resource.target.contains("Prod")',
    'resource.target.matches("^ACME/.*")',
    'resource.target.matches("^[A-Z]+/")',
    'resource.target.matches("\\\\x41")',
    'resource.target.matches("^\\\\p{Lu}")',
    'resource.target.matches("[^a-z/]")',
    'resource.target.matches("(?i)a(?-i)CME")',
    'resource.target.matches("^acme/[!-_]rod$")',
    'resource.target.matches("^acme/[ -Z]rod$")',
    'resource.target.matches("^acme/prod[.]git$")',
    'bytes(resource.target) == b"ACME/Prod"',
    'b"acme/Prod" == bytes(resource.target)',
    'bytes(resource.target) in [b"ACME/Prod"]',
    '[resource].filter(each, each.target == "ACME/Prod").size() > 0',
    'resource.target.upperAscii() == "ACME/PROD"',
    'resource.target.substring(0, 4) == "ACME"',
    'resource.target + "" == "ACME/Prod"',
    'string(resource.target) == "ACME/Prod"',
    'dyn(resource).target == "ACME/Prod"',
    '[resource.target][0].startsWith("ACME")',
    'resource.target < "M"',
    'resource == {"target": "ACME/Prod"}',
    'parameters == {"owner": "ACME"}',
    'parameters.exists(key, parameters[key] == "ACME")',
    '{"ACME/Prod": true}[resource.target]',
    'parameters.reviewers.exists(name, name.startsWith("Bob"))',
    'parameters.reviewers.map(name, name + "X") == ["bobX"]',
    '"Bob" in parameters.reviewers.map(name, name + "")',
    'parameters.repo == "a" + "B"',
    'parameters.repo.matches("^prod\\\\.git$")',
    'parameters.repo.endsWith("prod.git")',
  ])('%s could never match: it does not compile', (condition) => {
    expect(compileErrorOf(condition)).toMatch(/canonical|lower case/)
  })

  test('the error shows the canonical spelling', () => {
    expect(compileErrorOf('resource.target.startsWith("Acme/")')).toContain('write "acme/"')
    expect(compileErrorOf('resource.target.matches("^ACME/")')).toContain(
      'write "^acme/", or begin it with (?i)',
    )
  })

  test.each([
    ['parameters.reviewers.exists(name, name == "Bob")', { reviewers: ['alice', 'bOB'] }],
    ['"Bob" in parameters.reviewers', { reviewers: ['alice', 'bOB'] }],
    ['parameters.reviewers[1] == "Bob"', { reviewers: ['alice', 'bOB'] }],
    ['parameters.reviewers == ["Alice", "Bob"]', { reviewers: ['alice', 'bOB'] }],
    ['parameters.new_owner == "Mallory"', { new_owner: 'MALLORY' }],
    [
      'parameters.branch.repositoryNameWithOwner == "Acme/Prod"',
      { branch: { repositoryNameWithOwner: 'ACME/PROD' } },
    ],
    ['parameters.changes.exists(one, one.login == "Bob")', { changes: [{ login: 'BOB' }] }],
    ['parameters["assignees[]"] == "Bob"', { 'assignees[]': 'BOB' }],
    ['"Bob" in parameters.assignees', { 'assignees[0]': 'BOB' }],
    ['parameters.actor_identifier == "Bob"', { actor_identifier: 'BOB' }],
  ])('names in lists and objects count as well: %s', (condition, parameters) => {
    expect(verdict(condition, at('acme/site', parameters))).toBe('deny')
  })

  test.each([
    ['parameters.branch == "Main"', { branch: 'main' }],
    ['parameters.ref == "refs/heads/Main"', { ref: 'refs/heads/main' }],
    ['parameters.path == "README.md"', { path: 'readme.md' }],
    ['parameters.title.startsWith("WIP")', { title: 'wip' }],
    ['parameters.tag_name == "V1"', { tag_name: 'v1' }],
    ['resource.raw_target == "ACME/Prod"', {}],
    ['resource.raw_target.startsWith("ACME")', {}],
  ])('branches, tags, paths and spellings as sent are compared exactly: %s', (condition, parameters) => {
    expect(verdict(condition, at('acme/prod', parameters))).toBe('allow')
  })

  test('resource.raw_target is the target as sent', () => {
    expect(verdict('resource.raw_target == "ACME/Prod"', at('ACME/Prod'))).toBe('deny')
    expect(verdict('resource.raw_target.startsWith("ACME")', at('ACME/Prod'))).toBe('deny')
    expect(verdict('resource.raw_target == "acme/prod"', at('ACME/Prod'))).toBe('allow')
    expect(verdict('resource.raw_target.endsWith(".git")', at('acme/prod.git'))).toBe('deny')
  })

  test('a rule that allows one repository allows only its spellings', () => {
    const rule = { rule: 'allow' }
    expect(verdict('resource.target == "ACME/Prod"', at('acme/PROD'), rule)).toBe('allow')
    expect(verdict('resource.target == "ACME/Prod"', at('acme/prod2'), rule)).toBe('deny')
  })

  test('an action that an agent submits by name is decided by the same rules', () => {
    for (const type of ['codehost.repo.delete', 'CodeHost.repo.delete'])
      for (const resource of [
        { provider: 'codehost', target: 'ACME/Prod' },
        { provider: 'codehost', organization: 'Acme', repository: 'PROD' },
      ]) {
        const action = actionFromSpec({ type, resource }, null)
        expect(verdict('resource.target == "acme/prod"', action)).toBe('deny')
      }
  })

  test('other connectors compare as sent, and may use any spelling', () => {
    const scope = 'scope: { actions: ["generic.*"] }'
    const action = { type: 'generic.post', connector: 'generic' }
    const own = (target: string) => ({ ...action, resource: { provider: 'generic', target }, parameters: {} })
    expect(verdict('resource.target == "h/Admin"', own('h/Admin'), { scope })).toBe('deny')
    expect(verdict('resource.target == "h/Admin"', own('h/admin'), { scope })).toBe('allow')
    expect(verdict('resource.target.startsWith("h/A")', own('h/Admin'), { scope })).toBe('deny')
    const every = 'scope: { actions: ["*"] }'
    expect(verdict('resource.target == "h/Admin"', own('h/Admin'), { scope: every })).toBe('deny')
    expect(verdict('resource.target == "h/Admin"', own('h/admin'), { scope: every })).toBe('allow')
    expect(compileErrorOf('resource.target.startsWith("h/A")', every)).toContain('in lower case for')
    for (const pattern of ['CODEHOST.*', 'code*', 'codehost.pr.merge', 'c*'])
      expect(
        compileErrorOf('resource.target.startsWith("A")', `scope: { actions: ["${pattern}"] }`),
      ).toContain('in lower case for')
  })
})

/** The one spelling of all that names the same branch: the owner before the colon is a name, the branch is not. */
describe('the name of a new repository', () => {
  const NEW = ['prod', 'PROD', 'Prod', 'prod.git', 'PROD.GIT', 'pRoD.git.git']

  test.each(['repo.create', 'repo.update', 'fork.create'])('%s: a deny covers every spelling', (action) => {
    for (const condition of [
      'parameters.name == "prod"',
      'parameters.name == "Prod"',
      'parameters["name"] in ["x", "PROD.git"]',
      '!(parameters.name != "PROD")',
      'parameters.name.startsWith("pro")',
      'parameters.name.matches("^prod$")',
    ])
      for (const name of NEW)
        expect(
          verdict(condition, { type: `codehost.${action}`, ...at('acme', { name }) }),
          `${condition} ${name}`,
        ).toBe('deny')
  })

  test('an allow covers only its spellings; a spelling that never matches does not compile', () => {
    const allows = (name: string) =>
      verdict('parameters.name == "Prod"', at('acme', { name }), { rule: 'allow' }) === 'allow'
    expect(NEW.filter(allows)).toEqual(NEW)
    expect(['prod2', 'pro', 'git', 'prod/x'].filter(allows)).toEqual([])
    expect(compileErrorOf('parameters.name.startsWith("Pro")')).toContain('write "pro"')
  })
})

describe('branches of another owner', () => {
  const from = (head: unknown): Partial<Action> => at('acme/site', { head })

  test.each([
    'parameters.head == "Acme:Main"',
    'parameters.head == "acme:Main"',
    'parameters.head in ["x:Main", "ACME:Main"]',
    'parameters.head.startsWith("acme:")',
    'parameters.head.contains("acme:M")',
    'parameters.head.endsWith(":Main")',
    'parameters.head.endsWith("Main")',
    'parameters.head.matches("(?i)^acme:main$")',
    'parameters.head == context.head',
  ])('%s denies every spelling of the owner', (condition) => {
    const context = { head: 'aCME:Main' }
    for (const head of ['acme:Main', 'ACME:Main', 'Acme:Main'])
      expect([head, verdict(condition, from(head), { context })]).toEqual([head, 'deny'])
    expect(verdict(condition, from('other:release'), { context })).toBe('allow')
  })

  test('a branch is compared as sent', () => {
    expect(verdict('parameters.head == "Feature"', from('Feature'))).toBe('deny')
    expect(verdict('parameters.head == "Feature"', from('feature'))).toBe('allow')
    expect(verdict('parameters.head == "acme:Main"', from('acme:main'))).toBe('allow')
    expect(
      verdict(
        'parameters.basehead == "Acme:Main...Other:Fix"',
        at('acme/site', { basehead: 'ACME:Main...OTHER:Fix' }),
      ),
    ).toBe('deny')
    expect(
      verdict(
        'parameters.basehead == "acme:main...other:fix"',
        at('acme/site', { basehead: 'ACME:Main...OTHER:Fix' }),
      ),
    ).toBe('allow')
  })

  test.each([
    'parameters.head.startsWith("Acme:")',
    'parameters.head.startsWith("Acme")',
    'parameters.head.contains("Acme")',
    'parameters.head.matches("^Acme")',
    'parameters.head in [resource.target, "Acme:Main"]',
    'parameters.head == parameters.owner + ":" + "Main"',
  ])('%s does not compile', (condition) => {
    expect(compileErrorOf(condition)).not.toBe('compiled')
  })
})

describe('names that are compared with values of unknown spelling', () => {
  test('the keys of a map in the context are names where a target is looked for among them', () => {
    const context = { owners: { 'Acme/PROD': 'ops' } }
    expect(verdict('resource.target in context.owners', at('acme/prod'), { context })).toBe('deny')
    expect(verdict('resource.target in context.owners', at('acme/site'), { context })).toBe('allow')
  })

  test.each(['resource.target.endsWith(".git")', 'resource.target.endsWith("prod.git")'])(
    '%s does not compile: no canonical repository ends so',
    (condition) => {
      expect(compileErrorOf(condition)).toContain('never matches')
    },
  )

  test('contains(".git") compiles: "acme/.github" has it', () => {
    expect(verdict('resource.target.contains(".git")', at('acme/.github'))).toBe('deny')
  })
})
