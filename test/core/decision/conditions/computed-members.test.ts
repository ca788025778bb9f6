import { describe, expect, it } from 'vitest'
import { compileCondition } from '../../../../core/decision/conditions/condition.ts'

const compile = (text: string) => () => compileCondition(text, { rule: 'r', index: 0 })

describe('members with computed names', () => {
  it.each([
    'parameters[agent.name] == "x"',
    'parameters["he" + "ad"] == "main"',
    'resource["tar" + "get"] == "acme/site"',
    '(has(parameters.a) ? parameters : context)[agent.name] == "x"',
    'dyn(parameters)[agent.name] == "x"',
    'parameters.labels[agent.name] == "x"',
    '[parameters][0][agent.name] == "x"',
    '[[parameters]][0][0][agent.name] == "x"',
    '{"p": parameters}.p[agent.name] == "x"',
    '{"p": parameters}["p"][agent.name] == "x"',
    '[parameters].exists(p, p[agent.name] == "x")',
    '[context, resource].exists(p, p["tar" + "get"] == "acme/site")',
  ])('%s is refused, and the error states the correction', (text) => {
    expect(compile(text)).toThrow(/cannot be computed: write it as a literal, \w+(\.\w+)*\["NAME"\]/)
  })

  it.each([
    'parameters["head"] == "main"',
    'parameters.labels[0] == "x"',
    'parameters.labels[size(parameters.labels) - 1] == "x"',
    'parameters.inputs.exists(key, parameters.inputs[key] == "x")',
    '[0, 1].exists(i, parameters.labels[i] == "x")',
    '[context].exists(c, c[agent.name] == "x")',
    '["head", "base"].exists(name, name == "head")',
    '{"builder": 1, "other": 2}[agent.name] == 1',
    '["a", "b"][parameters.at] == "a"',
  ])('%s compiles', (text) => {
    expect(compile(text)).not.toThrow()
  })
})
