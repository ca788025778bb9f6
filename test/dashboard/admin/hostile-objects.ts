import { size } from '../../support/proof.ts'
import { HOSTILE } from '../hostile-strings.ts'
import type { Stage } from '../stage.ts'

/** One of eight in `npm test`: the time of the accessibility check grows with the rows of a page. All are shown in `looks.test.ts`. */
const TEXTS = HOSTILE.filter((_, index) => index % size(8, 1) === 0)

/** Creates objects with hostile text in every field that other users or agents choose. */
export async function fillWithHostileText({ laptop }: Stage): Promise<void> {
  const rule = { name: 'x', conditions: ['action.type == "none.none"'], decision: 'deny' }
  const policyYaml = JSON.stringify({ rules: [rule] })
  const named = TEXTS.slice(0, 20).flatMap((text) => [
    laptop.api('POST', '/api/dashboard/policies', {
      name: text.slice(0, 200),
      description: text,
      policyYaml,
    }),
    laptop.api('POST', '/api/dashboard/agents', {
      name: text.slice(0, 200),
      runtime: text.slice(0, 100),
      environment: 'test',
    }),
  ])
  const asked = TEXTS.map(async (text) => {
    const made = await laptop.api('POST', '/api/dashboard/agents', {
      name: `agent-${crypto.randomUUID()}`,
      runtime: text.slice(0, 100),
      environment: 'test',
    })
    await fetch(`${laptop.ready.base_url}/api/v1/actions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${made.body['api_key']}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        action_spec: {
          type: `hostile.${text}`.slice(0, 300),
          resource: { provider: 'hostile', target: text },
          parameters: { [text]: text },
          context: { reason: text.repeat(10).slice(0, 5_000) },
        },
      }),
    })
  })
  await Promise.all([...named, ...asked])
}
