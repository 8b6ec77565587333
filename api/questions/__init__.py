"""Standing questions: webhooks that are called when something new answers a question.

Design. A question is a listener of `memories.formed` with a stored place. Its words, its receiver and its progress are
events of one compacted topic, which every process follows in memory (`pipeline.question_registry`): nothing is in the
tables, so a replay changes and repeats nothing. One process at a time, by a lock, works on the questions
(`question_notifier`) in steps of a second:

1. Read the log from the question's place, wait until the tables have what it says, and search the question among the
   documents that stated something new (`question_matching`): the scores are those of a search.
2. Write the found memories to the log as notifications, with the new place. From now on their ids and their contents
   are fixed, so an interrupted delivery is repeated as it was.
3. Post the first notification, signed (`webhook_sender`), with the memories as they are at that moment. What was
   forgotten or deleted meanwhile is left out. A failure is written down with the time of the next attempt; after the
   last one the notification becomes a dead letter of the question, and the next one follows.

A question whose receiver is away holds up only itself: its place in the log is its queue.
"""
