import { FileInput, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { ImportReply } from '../../../../core/wire/export.ts'
import { ApiError } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { RowTable } from '../../components/layout/row-table.tsx'
import { SecretOnce } from '../../components/text/secret-once.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { BundlePreview, type ImportPreview } from './bundle-preview.tsx'

type Bundle = { readonly agents: readonly unknown[]; readonly policies: readonly unknown[] }
type Chosen = { readonly bundle: Bundle; readonly preview: ImportPreview }

/**
 * Compares a bundle with the existing objects, imports the new and changed items, and shows the keys of new agents.
 */
export function ImportBundle() {
  const [chosen, setChosen] = useState<Chosen | null>(null)
  const [reply, setReply] = useState<ImportReply | null>(null)
  const read = useMutation(async (file: File | null) => {
    setReply(null)
    setChosen(null)
    if (file === null) return
    const bundle = bundleOf(await file.text())
    const { preview = [] } = await call('POST /api/dashboard/import', { body: { ...bundle, dry_run: true } })
    setChosen({ bundle, preview })
  })
  const send = useMutation(async () => {
    setReply(await call('POST /api/dashboard/import', { body: { ...chosen?.bundle, skip_same: true } }))
    setChosen(null)
  })
  const error = read.error ?? send.error
  return (
    <Panel title="Import a bundle">
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          Agents get new keys, which are shown once. Policies are added; those whose tests fail are disabled.
          Existing objects are not replaced, and objects that exist in the same form are left out.
        </Text>
        <FileInput
          label="Bundle"
          placeholder="chaperone-export.json"
          accept="application/json,.json"
          onChange={(file) => read.run(file)}
          clearable
          clearButtonProps={{ 'aria-label': 'Remove the file' }}
        />
        {error === null ? null : <ErrorNote error={error} />}
        {chosen === null ? null : (
          <BundlePreview preview={chosen.preview} onImport={() => send.run()} isBusy={send.isBusy} />
        )}
        {reply === null ? null : <Report reply={reply} />}
      </Stack>
    </Panel>
  )
}

function bundleOf(text: string): Bundle {
  const value = parsed(text)
  if (typeof value !== 'object' || value === null || !('version' in value))
    throw new ApiError(400, 'This file is not a bundle. Choose a file that "Download bundle" created.')
  const { agents = [], policies = [] } = value as Partial<Bundle>
  if (!Array.isArray(agents) || !Array.isArray(policies))
    throw new ApiError(
      400,
      'This file is not a valid bundle: agents and policies must be lists. Export the bundle again.',
    )
  return { ...value, agents, policies }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new ApiError(400, `This file is not valid JSON (${error.message}). Choose another file.`, {
      cause: error,
    })
  }
}

function Report({ reply }: { readonly reply: ImportReply }) {
  const { agent_keys: keys, errors, policies_disabled: disabled } = reply
  return (
    <Stack gap="sm">
      <Text fw={600} role="status">
        Imported: agents {reply.agents_imported}, policies {reply.policies_imported}.
      </Text>
      {disabled.length === 0 ? null : (
        <Text size="sm">
          These policies are disabled until you correct them, because their tests fail:{' '}
          <UntrustedText text={disabled.join(', ')} />
        </Text>
      )}
      {errors.length === 0 ? null : (
        <RowTable
          rows={errors}
          keyOf={({ kind, name, error }) => `${kind} ${name} ${error}`}
          columns={[
            { head: 'Not imported', cell: ({ kind, name }) => <UntrustedText text={`${kind} ${name}`} /> },
            { head: 'Reason', cell: ({ error }) => <UntrustedText text={error} /> },
          ]}
        />
      )}
      {keys.length === 0 ? null : (
        <SecretOnce
          title="The new keys, shown only once"
          about="One line for each agent."
          label="keys"
          secret={keys.map(({ name, api_key }) => `${name} ${api_key}`).join('\n')}
        />
      )}
    </Stack>
  )
}
