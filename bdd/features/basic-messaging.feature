@basic-messaging
Feature: Basic messaging
  As a developer who uses Apache Iggy
  I want to create streams and topics, send messages and poll them
  So that applications can talk to each other

  Background:
    Given a running server
    And a client that is signed in as root

  Scenario: Create a stream and send messages
    Given no streams
    When I create the stream "test-stream"
    Then the stream was created with the id 0
    And the stream is named "test-stream"

    When I create the topic "test-topic" in stream 0 with 3 partitions
    Then the topic is named "test-topic"
    And the topic has 3 partitions

    When I send 10 messages to stream 0, topic 0, partition 0
    Then all messages were accepted

    When I poll stream 0, topic 0, partition 0 from offset 0
    Then I receive 10 messages
    And their offsets are 0 to 9
    And each message has the id and the payload that was sent
    And the last polled message equals the last sent message
