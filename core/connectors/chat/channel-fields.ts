/** Parameters of chat API methods that name the affected channels. */
export const CHANNEL_FIELDS = ['channel', 'channels', 'channel_id', 'channel_ids'] as const

/** Parameters of a few chat API methods that name channels other than the affected one. */
export const FURTHER_CHANNEL_FIELDS = ['additional_channels', 'context_channel_id'] as const
