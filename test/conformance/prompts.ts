import { PIXEL } from './resources.ts'

const argument = (name: string) => ({ name, description: `the ${name}`, required: true })

export const PROMPTS = [
  { name: 'test_simple_prompt', description: 'No arguments' },
  {
    name: 'test_prompt_with_arguments',
    description: 'Two arguments',
    arguments: [argument('arg1'), argument('arg2')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'Shows a resource',
    arguments: [argument('resourceUri')],
  },
  { name: 'test_prompt_with_image', description: 'Shows a picture' },
]

type Content =
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; text: string } }

export function promptOf(name: string, given: Readonly<Record<string, string>>) {
  return { messages: contentsOf(name, given).map((content) => ({ role: 'user' as const, content })) }
}

function contentsOf(name: string, given: Readonly<Record<string, string>>): Content[] {
  switch (name) {
    case 'test_simple_prompt':
      return [{ type: 'text', text: 'A simple prompt.' }]
    case 'test_prompt_with_arguments':
      return [{ type: 'text', text: `arg1='${given['arg1']}', arg2='${given['arg2']}'` }]
    case 'test_prompt_with_embedded_resource': {
      const uri = given['resourceUri'] ?? ''
      return [
        { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'embedded' } },
        { type: 'text', text: 'Look at it.' },
      ]
    }
    case 'test_prompt_with_image':
      return [
        { type: 'image', data: PIXEL, mimeType: 'image/png' },
        { type: 'text', text: 'Look at it.' },
      ]
    default:
      throw new Error(`no prompt ${name}`)
  }
}
