import { NumberInput, PasswordInput, Radio, Stack, TagsInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ChannelBody } from '../../../../core/wire/notifications/notification-channels.ts'
import { call } from '../../api/client.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'

type Values = Readonly<Record<string, unknown>>
type FieldProps = { readonly values: Values; readonly onChange: (changes: Values) => void }

const TEMPLATE = '{"text": "{{title}}\\n{{text}}\\n{{link}}"}'
const DEFAULTS: Readonly<Record<ChannelBody['name'], Values>> = {
  email: { host: '', port: 587, tls: 'starttls', username: '', password: '', from: '', to: [] },
  webhook: { url: '' },
  chat_webhook: { url: '', format: 'teams', template: TEMPLATE },
}

/** Edits the settings of one channel. A secret that the user leaves masked is not changed. */
export function ChannelDialog(props: {
  readonly name: ChannelBody['name']
  readonly title: string
  readonly settings: Values | null
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { name, title, settings, onClose, onDone } = props
  const [values, setValues] = useState<Values>(settings ?? DEFAULTS[name])
  const save = useMutation(async () => {
    await call('PUT /api/dashboard/notification-channels', {
      body: { name, settings: values } as ChannelBody,
    })
    onDone()
    onClose()
  })
  const fields = {
    values,
    onChange: (changes: Values) => setValues((before) => ({ ...before, ...changes })),
  }
  const isReady = name === 'email' ? values['host'] !== '' && values['from'] !== '' : values['url'] !== ''
  return (
    <FormDialog title={title} isOpen onClose={onClose} label="Save" isReady={isReady} mutation={save}>
      {name === 'email' ? <EmailFields {...fields} /> : <UrlField {...fields} />}
      {name === 'chat_webhook' ? <FormatFields {...fields} /> : null}
    </FormDialog>
  )
}

function EmailFields({ values, onChange }: FieldProps) {
  const text = (key: string) => ({
    value: String(values[key] ?? ''),
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      onChange({ [key]: event.currentTarget.value }),
  })
  return (
    <>
      <TextInput
        label="SMTP server"
        placeholder="smtp.example.com"
        required
        data-autofocus
        {...text('host')}
      />
      <NumberInput
        label="Port"
        min={1}
        max={65_535}
        value={Number(values['port'])}
        onChange={(port) => onChange({ port: Number(port) })}
      />
      <Radio.Group label="TLS" value={String(values['tls'])} onChange={(tls) => onChange({ tls })}>
        <Stack gap="xs" mt={6}>
          <Radio value="starttls" label="STARTTLS (usually port 587)" />
          <Radio value="implicit" label="TLS from the start (usually port 465)" />
          <Radio value="none" label="None (for a relay on a trusted network; no password)" />
        </Stack>
      </Radio.Group>
      <TextInput label="User name" autoComplete="off" {...text('username')} />
      <PasswordInput label="Password" autoComplete="off" {...text('password')} />
      <TextInput type="email" label="Sender" placeholder="chaperone@example.com" required {...text('from')} />
      <TagsInput
        label="Receivers"
        description="Leave empty to reach the users who may answer the approval."
        value={values['to'] as string[]}
        onChange={(to) => onChange({ to })}
        maxTags={50}
        acceptValueOnBlur
      />
    </>
  )
}

function UrlField({ values, onChange }: FieldProps) {
  return (
    <PasswordInput
      label="URL"
      description="Stored encrypted, because such URLs often contain a secret."
      value={String(values['url'] ?? '')}
      onChange={(event) => onChange({ url: event.currentTarget.value })}
      autoComplete="off"
      required
      data-autofocus
    />
  )
}

function FormatFields({ values, onChange }: FieldProps) {
  return (
    <>
      <Radio.Group
        label="Format"
        value={String(values['format'])}
        onChange={(format) => onChange({ format })}
      >
        <Stack gap="xs" mt={6}>
          <Radio value="teams" label="Microsoft Teams (Adaptive Card, webhook of a workflow)" />
          <Radio value="template" label="JSON template" />
        </Stack>
      </Radio.Group>
      {values['format'] === 'template' ? (
        <Textarea
          label="Template"
          description="JSON. {{title}}, {{text}} and {{link}} in its strings are replaced."
          value={String(values['template'] ?? '')}
          onChange={(event) => onChange({ template: event.currentTarget.value })}
          classNames={{ input: 'mono' }}
          autosize
          minRows={3}
          spellCheck={false}
        />
      ) : null}
    </>
  )
}
