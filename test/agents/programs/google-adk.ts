import { join } from 'node:path'
import type { AgentProgram } from '../program.ts'

export const googleAdk: AgentProgram = {
  id: 'google-adk',
  name: 'Google ADK',
  packages: { registry: 'pypi', names: ['google-adk'] },
  tool: 'codehost.issue.create',
  model: 'llm_c',
  command: ({ installed, home }) => [join(installed, 'bin/python'), `${home}/google_adk_agent.py`],
}
