import { Button, Group, Paper, Stack, Text } from '@mantine/core'
import { useCallback, useEffect, useState } from 'react'
import type { PushSubscriptionView } from '../../../../../core/wire/notifications/push-subscriptions.ts'
import { call } from '../../../api/client.ts'
import { useMutation } from '../../../components/form/use-mutation.ts'
import { ErrorNote } from '../../../components/layout/error-note.tsx'
import { Loaded } from '../../../components/layout/loading.tsx'
import { ToneBadge } from '../../../components/layout/tone-badge.tsx'
import { TimeText } from '../../../components/text/time-text.tsx'
import { UntrustedText } from '../../../components/text/untrusted-text.tsx'
import { useResource } from '../../../live/use-resource.ts'
import { ownEndpoint, subscribe, supportsPush, unsubscribe } from './push-browser.ts'

/** Lists the browsers of the user that receive Web Push messages, and adds this browser. */
export function WebPush() {
  const list = useResource('GET /api/dashboard/push-subscriptions', {})
  const [own, readOwn] = useOwnEndpoint()
  const changed = () => {
    readOwn()
    list.reload()
  }
  return (
    <section aria-label="When no page is open">
      <Text fw={600} component="h3" size="md">
        When no page is open
      </Text>
      <Text size="sm" mb="xs">
        Web Push sends the notification through the push service of the browser, also to a phone.
      </Text>
      <Loaded of={list}>
        {({ public_key: publicKey, subscriptions }) => (
          <Stack gap="sm">
            {subscriptions.map((one) => (
              <Subscription
                key={one.id}
                subscription={one}
                isOwn={one.endpoint_sha256 === own}
                onDone={changed}
              />
            ))}
            {supportsPush() ? (
              subscriptions.some(({ endpoint_sha256: sha256 }) => sha256 === own) ? null : (
                <TurnOn publicKey={publicKey} onDone={changed} />
              )
            ) : (
              <Text size="sm" role="note">
                This browser does not support Web Push for this page. Web Push needs https or localhost. On an
                iPhone or iPad, add the page to the Home Screen first (Share, Add to Home Screen) and open it
                from there.
              </Text>
            )}
          </Stack>
        )}
      </Loaded>
    </section>
  )
}

function useOwnEndpoint(): readonly [string | null, () => void] {
  const [own, setOwn] = useState<string | null>(null)
  const read = useCallback(() => {
    if (!supportsPush()) return
    ownEndpoint().then(setOwn, () => setOwn(null))
  }, [])
  useEffect(read, [read])
  return [own, read]
}

function TurnOn({ publicKey, onDone }: { readonly publicKey: string; readonly onDone: () => void }) {
  const turnOn = useMutation(async () => {
    await subscribe(publicKey)
    onDone()
  })
  return (
    <div>
      <Button size="xs" variant="default" onClick={() => turnOn.run()} loading={turnOn.isBusy}>
        Turn on in this browser
      </Button>
      {turnOn.error === null ? null : <ErrorNote error={turnOn.error} />}
    </div>
  )
}

type Props = {
  readonly subscription: PushSubscriptionView
  readonly isOwn: boolean
  readonly onDone: () => void
}

function Subscription({ subscription, isOwn, onDone }: Props) {
  const { id, host, created_at: createdAt, endpoint_sha256: endpointSha256 } = subscription
  const [result, setResult] = useState<string | null>(null)
  const test = useMutation(async () => {
    setResult(null)
    const { ok, error } = await call('POST /api/dashboard/push-subscriptions/test', { body: { id } })
    setResult(ok ? 'The test message was delivered.' : `The test message failed: ${error ?? ''}`)
    onDone()
  })
  const remove = useMutation(async () => {
    await call('DELETE /api/dashboard/push-subscriptions', { query: { id } })
    await unsubscribe(endpointSha256)
    onDone()
  })
  const error = test.error ?? remove.error
  return (
    <Paper withBorder p="sm">
      <Group justify="space-between" gap="xs" align="flex-start">
        <div className="min-0">
          <Group gap="xs">
            <UntrustedText text={host} />
            {isOwn ? <ToneBadge tone="info">This browser</ToneBadge> : null}
          </Group>
          <Text size="sm" c="dimmed" component="div">
            Added <TimeText at={createdAt} />
          </Text>
          <LastDelivery subscription={subscription} />
        </div>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => test.run()} loading={test.isBusy}>
            Send a test
          </Button>
          <Button size="xs" variant="default" onClick={() => remove.run()} loading={remove.isBusy}>
            Remove
          </Button>
        </Group>
      </Group>
      <Text size="sm" role="status">
        {result === null ? '' : <UntrustedText text={result} />}
      </Text>
      {error === null ? null : <ErrorNote error={error} />}
    </Paper>
  )
}

function LastDelivery({ subscription }: Pick<Props, 'subscription'>) {
  const { last_delivered_at: deliveredAt, last_failed_at: failedAt, last_error: error } = subscription
  return (
    <Text size="sm" component="div">
      Last delivery: <TimeText at={deliveredAt} />
      {failedAt === null ? null : (
        <>
          {' '}
          · Last error <TimeText at={failedAt} />: <UntrustedText text={error ?? ''} canGrow />
        </>
      )}
    </Text>
  )
}
